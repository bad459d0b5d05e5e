// SPDX-License-Identifier: Apache-2.0

import TurnpikeSupport

/// The members of a JSON object, in order, with unique names.
public struct JSONObject: Sendable {
    /// A name and the value of the name.
    public struct Member: Hashable, Sendable {
        /// The name.
        public let name: String
        /// The value.
        public var value: JSONValue

        /// Whether the names have the same bytes and the values are equal.
        public static func == (left: Self, right: Self) -> Bool {
            Grammar.areSame(left.name, right.name) && left.value == right.value
        }
    }

    /// A name that is compared by bytes (RFC 8259 §8.3), without canonical equivalence.
    private struct Name: Hashable {
        let text: String

        static func == (left: Self, right: Self) -> Bool { Grammar.areSame(left.text, right.text) }

        // The hash uses the bytes. With string hashes, all canonically equivalent spellings of a
        // name would have the same hash, and a peer could send a million spellings.
        func hash(into hasher: inout Hasher) {
            var text = text
            text.withUTF8 { unsafe hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        }
    }

    private var members: [Member] = []
    // The index exists only if the object is too large for a linear search.
    private var positions: [Name: Int]?

    private static let linearSearchLimit = 12

    /// Creates an empty object.
    public init() {}

    /// Creates an object from members in order; of members with the same name, the first counts.
    public init(_ pairs: some Sequence<(String, JSONValue)>) {
        for (name, value) in pairs { _ = append(name, value) }
    }

    /// The value of a member; the value nil removes the member.
    public subscript(name: String) -> JSONValue? {
        get { position(of: name).map { members[$0].value } }
        set {
            switch (position(of: name), newValue) {
            case (let position?, let newValue?): members[position].value = newValue
            case (let position?, nil):
                members.remove(at: position)
                positions = nil
                indexIfLarge()
            case (nil, let newValue?): _ = append(name, newValue)
            case (nil, nil): break
            }
        }
    }

    var names: [String] { members.map(\.name) }

    mutating func append(_ name: String, _ value: JSONValue) -> Bool {
        if position(of: name) != nil { return false }
        members.append(Member(name: name, value: value))
        if positions != nil {
            positions?[Name(text: name)] = members.count - 1
        } else {
            indexIfLarge()
        }
        return true
    }

    private mutating func indexIfLarge() {
        guard members.count > Self.linearSearchLimit else { return }
        var index: [Name: Int] = [:]
        for (position, member) in members.enumerated() {
            index[Name(text: member.name)] = position
        }
        positions = index
    }

    private func position(of name: String) -> Int? {
        if let positions { return positions[Name(text: name)] }
        return members.firstIndex { Grammar.areSame($0.name, name) }
    }
}

extension JSONObject: RandomAccessCollection {
    /// The position of the first member.
    public var startIndex: Int { members.startIndex }
    /// The position after the last member.
    public var endIndex: Int { members.endIndex }
    /// The member at a position.
    public subscript(position: Int) -> Member { members[position] }
}

extension JSONObject: Hashable {
    /// Whether both objects have the same members in any order (RFC 8259 §4).
    public static func == (left: Self, right: Self) -> Bool {
        left.count == right.count && left.members.allSatisfy { right[$0.name] == $0.value }
    }

    /// Hashes the members independently of the order.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(members.reduce(0) { $0 ^ $1.hashValue })
    }
}

extension JSONObject: ExpressibleByDictionaryLiteral {
    /// Creates an object; of members with the same name, the first counts.
    public init(dictionaryLiteral elements: (String, JSONValue)...) { self.init(elements) }
}
