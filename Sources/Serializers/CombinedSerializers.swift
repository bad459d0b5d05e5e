// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
public import TurnpikeSupport

struct WrappedSerializer<Base: ResponseSerializer, Output: Sendable>: ResponseSerializer {
    let base: Base
    var collectsAll = false
    let run: @Sendable (Response, SerializationContext) async throws -> Output

    func accept(in table: SerializerTable) -> [MediaType] { base.accept(in: table) }

    func collectedBytes(in table: SerializerTable) -> Int {
        collectsAll ? .max : base.collectedBytes(in: table)
    }

    func serialize(
        _ response: Response, context: SerializationContext
    ) async throws -> Output { try await run(response, context) }
}

extension ResponseSerializer {
    /// Returns a serializer whose values are transformed by a closure, which may throw any error.
    public func map<Value: Sendable>(
        _ transform: @escaping @Sendable (Output) throws -> Value
    ) -> some ResponseSerializer<Value> {
        WrappedSerializer(base: self) { try transform(await serialize($0, context: $1)) }
    }
}

/// Tries several serializers in order, and returns the value of the first that succeeds.
///
/// ```swift
/// let text = FirstFitSerializer([JSONSerializer().map { $0.description }, StringSerializer().map { $0 }])
/// ```
public struct FirstFitSerializer<Output: Sendable>: ResponseSerializer {
    private let serializers: [any ResponseSerializer<Output>]

    /// Creates a serializer that tries `serializers` in order.
    public init(_ serializers: [any ResponseSerializer<Output>]) { self.serializers = serializers }

    /// The media types of all serializers.
    public func accept(in table: SerializerTable) -> [MediaType] {
        serializers.flatMap { $0.accept(in: table) }.reduce(into: []) { ranges, range in
            if !ranges.contains(range) { ranges.append(range) }
        }
    }

    /// The maximum integer, because the serializer collects the whole content.
    public func collectedBytes(in table: SerializerTable) -> Int { .max }

    /// Collects the content once, and returns the value of the first serializer that succeeds.
    /// - Throws: The error of the first serializer, if every serializer fails.
    public func serialize(
        _ response: Response, context: SerializationContext
    ) async throws -> Output {
        let content = try await response.body.collect(upTo: context.maxBytes)
        var first: (any Error)?
        for serializer in serializers {
            var copy = response
            copy.body = ResponseBody(content, trailers: response.trailers)
            do {
                return try await serializer.serialize(copy, context: context)
            } catch let error as CancellationError {
                throw error
            } catch {
                first = first ?? error
            }
        }
        throw first
            ?? ClientError(
                .serialization, "the list of serializers is empty",
                response: response.head)
    }
}

struct JointSerializer<each Serializer: ResponseSerializer>: ResponseSerializer {
    typealias Output = (repeat (each Serializer).Output)

    private let serializers: (repeat each Serializer)

    init(_ serializers: repeat each Serializer) {
        self.serializers = (repeat each serializers)
    }

    func accept(in table: SerializerTable) -> [MediaType] {
        var ranges: [MediaType] = []
        for serializer in repeat each serializers {
            for range in serializer.accept(in: table) where !ranges.contains(range) {
                ranges.append(range)
            }
        }
        return ranges
    }

    func collectedBytes(in table: SerializerTable) -> Int { .max }

    func serialize(
        _ response: Response, context: SerializationContext
    ) async throws -> (repeat (each Serializer).Output) {
        let content = try await response.body.collect(upTo: context.maxBytes)
        func value<One: ResponseSerializer>(_ serializer: One) async throws -> One.Output {
            var copy = response
            copy.body = ResponseBody(content, trailers: response.trailers)
            return try await serializer.serialize(copy, context: context)
        }
        return (repeat try await value(each serializers))
    }
}

extension Call {
    /// Sends the request once, and returns the value of each serializer.
    ///
    /// ```swift
    /// let (user, bytes) = try await client.get("users/1")
    ///     .serialize(with: DecodableSerializer(User.self), DataSerializer())
    /// ```
    public func serialize<First: ResponseSerializer, each More: ResponseSerializer>(
        with first: First, _ more: repeat each More
    ) async throws -> (First.Output, repeat (each More).Output) {
        try await serialize(with: JointSerializer(first, repeat each more))
    }
}

/// Decides which responses may have no content.
public struct EmptyContentRule: Sendable {
    private let statuses: Set<HTTPStatus>?
    private let methods: Set<HTTPMethod>
    private var countsBlanks = false

    /// Creates a rule that allows empty content for statuses and for responses to methods.
    public init(statuses: Set<HTTPStatus> = [204, 205], methods: Set<HTTPMethod> = [.head]) {
        self.statuses = statuses
        self.methods = methods
    }

    private init() {
        statuses = nil
        methods = []
    }

    /// A rule that allows any response to be empty.
    public static let any = EmptyContentRule()

    /// Returns the same rule, for which up to 16 bytes of whitespace count as empty content.
    public func countingBlanks() -> Self {
        var copy = self
        copy.countsBlanks = true
        return copy
    }

    func allows(_ response: Response, to request: Request) -> Bool {
        statuses?.contains(response.status) ?? true || methods.contains(request.method)
    }

    func isEmpty(_ body: inout ResponseBody) async throws -> Bool {
        let start = try await body.peek(upTo: countsBlanks ? Self.maxBlanks + 1 : 1)
        if start.isEmpty || !countsBlanks { return start.isEmpty }
        return start.count <= Self.maxBlanks
            && start.allSatisfy { [0x20, 0x09, 0x0A, 0x0D].contains($0) }
    }

    private static let maxBlanks = 16
}

extension ResponseSerializer {
    /// Returns the same serializer with a value for responses without content.
    /// - Parameters:
    ///   - value: The value.
    ///   - rule: The responses that may have no content.
    /// - Returns: The serializer.
    public func valueForEmpty(
        _ value: Output, where rule: EmptyContentRule = EmptyContentRule()
    ) -> some ResponseSerializer<Output> {
        WrappedSerializer(base: self) { response, context in
            var response = response
            if rule.allows(response, to: context.request),
                try await rule.isEmpty(&response.body)
            {
                return value
            }
            return try await serialize(response, context: context)
        }
    }
}

extension ResponseSerializer {
    /// Returns a serializer that removes a prefix which prevents that JSON runs as a script.
    ///
    /// Google and Angular send `)]}'` and the rest of the line, and other servers send `while(1);`
    /// or `for(;;);`.
    public func removingXSSIPrefix() -> some ResponseSerializer<Output> {
        preprocessed { content in
            if content.starts(with: Data(")]}'".utf8)) {
                let rest = content.dropFirst(4)
                guard let end = rest.firstIndex(of: 0x0A) else {
                    return rest.first == UInt8(ascii: ",") ? rest.dropFirst() : rest
                }
                let line = rest[..<end].filter {
                    $0 != 0x0D && $0 != 0x20 && $0 != UInt8(ascii: ",")
                }
                return line.isEmpty ? rest[(end + 1)...] : rest
            }
            for prefix in ["while(1);", "for(;;);"] where content.starts(with: Data(prefix.utf8)) {
                return content.dropFirst(prefix.utf8.count)
            }
            return content
        }
    }

    /// Returns a serializer that transforms the content before the decoding.
    ///
    /// ```swift
    /// let json = JSONSerializer().preprocessed { try decrypted($0) }
    /// let value = try await client.get("data").serialize(with: json)
    /// ```
    public func preprocessed(
        by process: @escaping @Sendable (Data) throws -> Data
    ) -> some ResponseSerializer<Output> {
        WrappedSerializer(base: self, collectsAll: true) { response, context in
            let content = try await response.body.collect(upTo: context.maxBytes)
            var changed = response
            do {
                changed.body = ResponseBody(
                    Data(try process(content)), trailers: response.trailers)
            } catch {
                throw ClientError.serialization(error, of: response.head, content: content)
            }
            return try await serialize(changed, context: context)
        }
    }
}
