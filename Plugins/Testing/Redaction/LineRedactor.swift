// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore

enum LineRedactor {
    /// Redacts JSON lines or a JSON text sequence (RFC 7464), and withholds other records.
    static func redactedJSON(
        _ text: [UInt8], isCut: Bool, in contents: ContentRedactor
    ) -> [UInt8] {
        if let whole = try? contents.pass.json(text, isCut: isCut) { return whole }
        var shown: [UInt8] = []
        shown.reserveCapacity(text.count)
        var isBroken = false
        func take(_ line: ArraySlice<UInt8>, _ end: ArraySlice<UInt8>) {
            let isLast = line.endIndex == text.count
            do throws(ClientError) {
                // The line may be the end of a JSON text that began in an earlier line.
                if isLast, isCut, isBroken { throw .unreadable("it is cut off") }
                shown += try contents.pass.json(Array(line), isCut: isCut && isLast)
            } catch {
                isBroken = true
                shown += contents.withhold(line, as: "JSON", error.message)
            }
            shown += end
        }
        if text.contains(0x1E) {
            for record in text.split(separator: 0x1E, omittingEmptySubsequences: false) {
                take(
                    record,
                    record.endIndex < text.count
                        ? text[record.endIndex..<(record.endIndex + 1)] : [])
            }
        } else {
            forEachLine(of: text, take)
        }
        return shown
    }

    /// Redacts an event stream, in which the `data` lines of an event form one text.
    static func redactedEvents(_ text: [UInt8], isCut: Bool, in pass: RedactionPass) -> [UInt8] {
        var stream = EventStream(pass: pass)
        forEachLine(of: text) { line, end in
            stream.take(line, end, isCut: isCut && line.endIndex == text.count)
        }
        return stream.finished(isCut: isCut)
    }

    // Lines end with CR, LF or CRLF.
    private static func forEachLine(
        of text: [UInt8], _ body: (ArraySlice<UInt8>, ArraySlice<UInt8>) -> Void
    ) {
        var start = 0
        while start < text.count {
            let end = text[start...].firstIndex { $0 == 0x0A || $0 == 0x0D } ?? text.count
            var next = min(end + 1, text.count)
            if end < text.count, text[end] == 0x0D, next < text.count, text[next] == 0x0A {
                next += 1
            }
            body(text[start..<end], text[end..<next])
            start = next
        }
    }
}

private struct EventStream {
    let pass: RedactionPass
    private var output: [UInt8] = []
    // The lines of the current event, with the content of each `data` line.
    private var lines:
        [(text: ArraySlice<UInt8>, end: ArraySlice<UInt8>, data: ArraySlice<UInt8>?)] = []

    init(pass: RedactionPass) { self.pass = pass }

    mutating func take(_ line: ArraySlice<UInt8>, _ end: ArraySlice<UInt8>, isCut: Bool) {
        let isData =
            line.starts(with: "data".utf8)
            && (line.count == 4 || line[line.startIndex + 4] == UInt8(ascii: ":"))
        guard isData else {
            let shown = pass.value(Array(line), isCut: isCut).map { $0[...] } ?? line
            lines.append((shown, end, nil))
            if line.isEmpty { flush(isCut: false) }
            return
        }
        var data = line.dropFirst(5)
        if data.first == 0x20 { data = data.dropFirst() }
        lines.append((line, end, data))
    }

    consuming func finished(isCut: Bool) -> [UInt8] {
        flush(isCut: isCut)
        return output
    }

    private mutating func flush(isCut: Bool) {
        let data = Array(lines.compactMap(\.data).joined(separator: [0x0A]))
        var shown = pass.value(data, isCut: isCut).map {
            $0.split(separator: 0x0A, omittingEmptySubsequences: false)[...]
        }
        for line in lines {
            guard let data = line.data, shown != nil else {
                output += line.text + line.end
                continue
            }
            // A removed line is omitted. The last loop adds further lines.
            guard let next = shown?.popFirst() else { continue }
            output += line.text[..<data.startIndex] + next + line.end
        }
        while let next = shown?.popFirst() { output += Array("data: ".utf8) + next + [0x0A] }
        lines = []
    }
}
