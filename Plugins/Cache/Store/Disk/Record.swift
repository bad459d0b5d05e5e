// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

// Writes little-endian numbers and texts as bytes. The length of a text precedes the text.
struct RecordWriter {
    private(set) var bytes: [UInt8] = []

    mutating func add(_ value: some FixedWidthInteger) {
        unsafe withUnsafeBytes(of: value.littleEndian) { unsafe bytes.append(contentsOf: $0) }
    }

    mutating func add(_ text: String) {
        add(UInt32(text.utf8.count))
        bytes.append(contentsOf: text.utf8)
    }

    mutating func add(_ text: String?) {
        add(UInt32(text == nil ? 0 : 1))
        if let text { add(text) }
    }

    mutating func add(_ data: Data) { bytes.append(contentsOf: data) }

    mutating func addZeros(_ count: Int) {
        bytes.append(contentsOf: repeatElement(0, count: count))
    }

    /// Replaces eight zeros at a position with a number.
    mutating func set(_ number: UInt64, at position: Int) {
        unsafe withUnsafeBytes(of: number.littleEndian) { number in
            unsafe bytes.replaceSubrange(position..<(position + 8), with: number)
        }
    }

    mutating func removeAll(from position: Int) { bytes.removeSubrange(position...) }
}

// Reads the output of a ``RecordWriter``. After the end of the bytes, each value is nil.
struct RecordReader {
    private let bytes: Data
    private var place = 0

    init(_ data: Data) { bytes = data }

    private mutating func number<Number: FixedWidthInteger>(_: Number.Type) -> Number? {
        let size = MemoryLayout<Number>.size
        guard bytes.count - place >= size else { return nil }
        defer { place += size }
        return unsafe bytes.withUnsafeBytes {
            Number(littleEndian: unsafe $0.loadUnaligned(fromByteOffset: place, as: Number.self))
        }
    }

    mutating func number32() -> UInt32? { number(UInt32.self) }

    mutating func number64() -> UInt64? { number(UInt64.self) }

    mutating func text() -> String? {
        guard let count = number32(), bytes.count - place >= Int(count) else { return nil }
        defer { place += Int(count) }
        return String(validating: bytes.dropFirst(place).prefix(Int(count)), as: UTF8.self)
    }

    mutating func optionalText() -> String?? {
        guard let flag = number32() else { return nil }
        if flag == 0 { return .some(nil) }
        guard let text = text() else { return nil }
        return text
    }
}

extension StoredResponse {
    func write(_ writer: inout RecordWriter) {
        let (key, fields, head) = (key, variant.fields, head)
        writer.add(key.method.rawValue)
        writer.add(key.url)
        writer.add(key.partition)
        writer.add(UInt32(fields.count))
        for field in fields {
            writer.add(field.name)
            writer.add(field.value)
        }
        writer.add(requestTime.timeIntervalSinceReferenceDate.bitPattern)
        writer.add(responseTime.timeIntervalSinceReferenceDate.bitPattern)
        writer.add(UInt32(clamping: head.status.code))
        writer.add(head.url.absoluteString)
        writer.add(head.version)
        writer.add(UInt32(head.headers.count))
        for field in head.headers {
            writer.add(field.name.rawValue)
            writer.add(field.value)
        }
    }

    /// Reads a response, or returns nil if the bytes are not a response.
    init?(record: Data) {
        var reader = RecordReader(record)
        guard let method = reader.text(), let text = reader.text(),
            let partition = reader.optionalText(), let count = reader.number32(),
            count <= Variant.maxFields + 1
        else { return nil }
        var fields: [Variant.Field] = []
        for _ in 0..<count {
            guard let name = reader.text(), let value = reader.optionalText() else { return nil }
            fields.append(Variant.Field(name: name, value: value))
        }
        guard let requested = reader.number64(), let answered = reader.number64(),
            let code = reader.number32(), let address = reader.text(),
            let url = URL(string: address), let version = reader.optionalText(),
            let headers = Self.headers(&reader)
        else { return nil }
        let times = [requested, answered].map { Double(bitPattern: $0) }
        guard times.allSatisfy({ abs($0) < 1e12 }) else { return nil }
        self.init(
            key: CacheKey(method: HTTPMethod(method), url: text, partition: partition),
            variant: Variant(fields: fields),
            head: ResponseHead(
                status: HTTPStatus(Int(code)), headers: headers, url: url, version: version),
            requestTime: Date(timeIntervalSinceReferenceDate: times[0]),
            responseTime: Date(timeIntervalSinceReferenceDate: times[1]))
    }

    private static func headers(_ reader: inout RecordReader) -> HTTPHeaders? {
        guard let count = reader.number32() else { return nil }
        var headers = HTTPHeaders()
        for _ in 0..<count {
            guard let name = reader.text(), let value = reader.text() else { return nil }
            headers.appendReceived(HTTPHeaders.Name(name), value)
        }
        return headers.defect == nil ? headers : nil
    }
}
