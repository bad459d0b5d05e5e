// SPDX-License-Identifier: Apache-2.0

public import TurnpikeSupport

/// A JSON number: an exact integer of any size, or a finite `Double`.
public struct JSONNumber: Hashable, Sendable {
    private enum Storage: Hashable {
        case integer(Int64)
        case double(Double)
        case digits(String)
    }

    private let storage: Storage

    /// Creates an integer.
    public init(_ value: some BinaryInteger) {
        if let small = Int64(exactly: value) {
            storage = .integer(small)
        } else {
            storage = .digits(String(value))
        }
    }

    /// Creates a number, or nil if the value is not finite, because JSON has no infinite numbers.
    public init?(_ value: Double) {
        guard value.isFinite else { return nil }
        storage = .double(value)
    }

    init(digits: String) { storage = .digits(digits) }

    /// The value as an `Int`, or nil if the number is not an integer or is out of range.
    public var int: Int? {
        switch storage {
        case .integer(let value): Int(exactly: value)
        case .double(let value): Int(exactly: value)
        case .digits: nil
        }
    }

    /// The value as a `UInt64`, or nil if the number is not an integer or is out of range.
    public var uint64: UInt64? {
        switch storage {
        case .integer(let value): UInt64(exactly: value)
        case .double(let value): UInt64(exactly: value)
        case .digits(let digits): UInt64(digits)
        }
    }

    /// The nearest `Double`.
    public var double: Double {
        switch storage {
        case .integer(let value): Double(value)
        case .double(let value): value
        case .digits(let digits): Double(digits) ?? .nan
        }
    }

    /// The value as a `Decimal` of up to 38 digits, or nil if the number does not fit.
    public var decimal: Decimal? {
        switch storage {
        case .integer(let value): Decimal(value)
        case .double(let value): Decimal(string: "\(value)")
        case .digits(let digits):
            digits.drop { $0 == "-" }.utf8.count <= 38 ? Decimal(string: digits) : nil
        }
    }

    /// Whether the JSON text of the number is an integer.
    public var isInteger: Bool {
        if case .double = storage { return false }
        return true
    }
}

extension JSONNumber: CustomStringConvertible {
    /// The number as JSON text.
    public var description: String {
        switch storage {
        case .integer(let value): value.description
        case .double(let value): value.description
        case .digits(let digits): digits
        }
    }
}
