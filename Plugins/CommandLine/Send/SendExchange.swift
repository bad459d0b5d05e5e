// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Turnpike
import TurnpikeCore
import TurnpikeInspection

struct SendExchange: Sendable {
    private let options: SendOptions
    private let terminal: Terminal
    private let display: SendDisplay
    private let bar: ProgressBar?
    private let observed = ExecObservation()
    /// Prints the events; nil if the command line has no option for events.
    let trace: SendTrace?

    init(_ options: SendOptions, _ terminal: Terminal) {
        self.options = options
        self.terminal = terminal
        display = SendDisplay(terminal, isPretty: options.isPretty)
        let bar = terminal.columns.map { ProgressBar(columns: $0, draw: terminal.messages) }
        self.bar = bar
        trace =
            options.isVerbose ? SendTrace(write: bar.map { $0.write } ?? terminal.messages) : nil
    }

    func run(with client: Client) async -> Int32 {
        let output = SendOutput(options.output, display) { [terminal, bar] in
            // On a terminal, the content is shown in place of the progress bar.
            if terminal.outputIsTerminal { bar?.end() }
        }
        var call = client.request(
            options.method, Target(options.url), headers: options.fields, body: body())
        if let timeout = options.timeout { call = call.deadline(timeout) }
        if options.trace != nil { call = call.traced() }
        let reading = SendReading(
            output: output, display: display, observed: observed,
            collects: options.asJSON && options.output == nil, showsHead: options.showsHead,
            refuses: options.stack == nil)
        let running = call.start(reading)
        let result = await withTaskCancellationHandler {
            async let shown: Void = show(running)
            let result = await Self.result(of: running)
            await shown
            return result
        } onCancel: {
            running.cancel()
        }
        bar?.end()
        return finish(result, output, running.timeline, call.trace)
    }

    private func show(_ running: RunningCall<JSONValue?>) async {
        guard let bar else { return }
        for await progress in running.progress { bar.show(progress) }
    }

    private static func result(
        of running: RunningCall<JSONValue?>
    ) async -> Result<JSONValue?, any Error> {
        do {
            return .success(try await running.value)
        } catch {
            return .failure(error)
        }
    }

    // MARK: The request

    private func body() -> RequestBody {
        switch options.content {
        case .none: .empty
        case .text(let text): .data(Data(text.utf8))
        case .file(let path): .file(URL(filePath: path))
        case .input: .stream { [terminal] in InputChunks(read: terminal.input) }
        case .fields(let fields): RequestBody.form(of: fields)
        }
    }

    // MARK: The end

    private func finish(
        _ result: Result<JSONValue?, any Error>, _ output: SendOutput, _ timeline: Timeline,
        _ recorded: Trace?
    ) -> Int32 {
        var value: JSONValue?
        var failure: (any Error)?
        do {
            value = try result.get()
            try output.keep()
        } catch {
            output.discard()
            failure = error
        }
        do {
            try display.end()
            trace?.note(timeline)
            if options.asJSON {
                try tell(value, failure)
            } else if let failure {
                try tell(failure)
            }
            if let recorded { try options.trace?.show(recorded, terminal) }
        } catch {
            let status = terminal.ended(by: error)
            if failure == nil { return status }
        }
        return failure.map(ExitCode.of) ?? ExitCode.success
    }

    private func tell(_ value: JSONValue?, _ failure: (any Error)?) throws {
        var value = value
        if value == nil, let failure = failure as? ClientError, !failure.responseBody.isEmpty {
            value = failure.response.flatMap {
                SendReading.value(of: failure.responseBody, type: $0.headers[.contentType])
            }
        }
        var result = ExecResult(observed, value: value, error: failure).json.object ?? [:]
        // The value already contains the content, and the bytes are therefore left out.
        if value != nil, var body = result["body"]?.object {
            body["base64"] = nil
            result["body"] = .object(body)
        }
        if failure == nil, let path = options.output { result["file"] = .string(path) }
        try display.show(JSONValue.object(result))
    }

    private func tell(_ failure: any Error) throws {
        if failure is CancellationError { return }
        if failure is OutputError { throw failure }
        if let failure = failure as? ClientError {
            try showRefused(failure)
            return terminal.error(failure.description)
        }
        terminal.error(Redaction.standard.text(String(describing: failure)))
    }

    // If a validator of the stack refused a response, shows the content that the error has.
    private func showRefused(_ failure: ClientError) throws {
        guard !observed.hasSeen, let head = failure.response else { return }
        if options.showsHead { try display.show(head) }
        guard !failure.responseBody.isEmpty else { return }
        display.begin(head.headers)
        _ = try display.write(failure.responseBody)
        try display.end()
    }
}

/// The bytes of an input, in chunks as they arrive.
private struct InputChunks: AsyncSequence, Sendable {
    let read: @Sendable (Int) throws -> Data

    struct AsyncIterator: AsyncIteratorProtocol {
        let read: @Sendable (Int) throws -> Data
        let reads = BlockingReads()

        mutating func next() async throws -> Data? {
            let chunk = try await reads.value { [read] in try read(65_536) }
            return chunk.isEmpty ? nil : chunk
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(read: read) }
}
