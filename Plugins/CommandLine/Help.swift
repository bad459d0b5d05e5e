import Foundation
import TurnpikeCore

/// What `--help` tells.
package enum Help: String, CaseIterable {
    case overview, send, exec, check, cache

    /// Shows a page.
    package static func show(_ page: Help, _ terminal: Terminal) -> Int32 {
        do {
            try terminal.line(page.text)
            return ExitCode.success
        } catch {
            return terminal.ended(by: error)
        }
    }

    /// Shows a page if the arguments ask for it.
    static func asked(_ arguments: [String], _ page: Help, _ terminal: Terminal) -> Int32? {
        guard let first = arguments.first, first == "--help" || first == "-h" else { return nil }
        return show(page, terminal)
    }

    /// The text of a page.
    package var text: String {
        switch self {
        case .overview: Self.overviewText
        case .send: Self.sendText + "\n\n" + Self.exitText
        case .exec: Self.execText
        case .check: Self.checkText
        case .cache: Self.cacheText
        }
    }

    private static let overviewText = """
        turnpike: HTTP from a shell, through a stack of gates

          turnpike send https://example.com/
              one request; the answer goes to standard output
          turnpike exec --stack stack.json <requests.jsonl
              JSON Lines in, JSON Lines out: one exchange each
          turnpike check stack.json
              every mistake in a stack file, with its place
          turnpike cache list folder
              what a cache on disk holds; purge empties it

        turnpike send --help, and the same for the others, tells more.
        """

    private static let sendText = """
        turnpike send [METHOD] URL [-H name:value]… [-d body | -d @file | -F name=value…]
                      [--stack FILE] [-o FILE] [--json]

          turnpike send https://example.com/
              GET; the answer goes to standard output as it comes
          turnpike send https://example.com/users -H 'Content-Type: application/json' -d '{"name":"Ada"}'
              POST, since there is a body; any other method is named before the URL
          turnpike send PUT https://example.com/report -d @report.pdf
              a file, read as it is sent; tar c . | turnpike send … -d @- sends standard input
          turnpike send https://example.com/photos -F title=Sea -F photo=@sea.jpg
              a form (multipart); a value that begins with @ names a file
          turnpike send https://example.com/big.iso -o big.iso
              the file appears when it is whole; what takes more than a second shows its progress
          turnpike send https://example.com/users/1 --json
              status, header fields, value and what happened, as one JSON object
          turnpike send --stack stack.json users/1
              through the client that a stack file describes

        Without a stack file, redirects are followed, what may be sent twice is tried up to three
        times, and a body that stands still for 30 s ends the call. A status that is no success
        is told on standard error and by the exit status; the answer is still written to standard
        output, and never to the file of -o.
        """

    private static let exitText = """
        exit status
            0  answered
            1  failed for another reason
            2  wrong usage, request or stack file
            3  no connection: name, network, TLS
            4  out of time
            5  answer refused, by its status or type
            6  answer broken off, malformed or too large
            7  a file, the input or the output cannot be read or written
          130  ended by Ctrl-C, after cleaning up
        """

    private static let execText = """
        turnpike exec [--stack FILE]

          echo '{"request": {"url": "https://example.com/"}}' | turnpike exec
              each line of standard input is one exchange, each line of standard output its answer
          turnpike exec --stack stack.json <requests.jsonl >answers.jsonl
              lines run in order, through the client that the stack file describes

        A line may hold: id, client (a name, one of 100 at most: such lines share a client), stack,
        transport, baseURL, request {method, url, query, headers, pathParameters, and one of text,
        base64, json, form, propertyList, file, stream, multipart}, options {timeout, limits,
        retryable}, serialize (data, string, json, propertyList, auto, lines, jsonLines, events,
        none), events, download, cancelAfter, repeat, concurrency, stagger, maxItems.
        An answer holds the line's id, an outcome, and a result for each repetition.

        Every line is answered, whatever it holds; the exit status is 0 at the end of the input,
        7 if the input cannot be read or an answer cannot be written, and 130 after Ctrl-C, which
        cancels the present line and answers it. A line with cancelAfter 0 sends nothing.
        """

    private static let checkText = """
        turnpike check FILE

          turnpike check stack.json
              says nothing and exits with 0 if the stack file is right; else tells every mistake
              with its place, what was found and what is allowed, and exits with 2; of more than
              100 mistakes it tells the first 100 and the number of the others

        Nothing is sent, opened or made.
        """

    private static let cacheText = """
        turnpike cache list DIRECTORY
        turnpike cache purge DIRECTORY [URL]

          turnpike cache list folder
              a line for each response that the gate cache has stored there: status, bytes, age and
              time left in seconds (below 0: stale), URL, with tabs between; secrets are hidden
          turnpike cache purge folder
              removes them all
          turnpike cache purge folder https://example.com/users/1
              removes what is stored for a URL, all variants and users

        A client may use the folder meanwhile; what it holds in memory, too, stays there.
        """
}

/// Finds the command that someone meant.
enum NearMissCommand {
    static func hint(for name: String) -> String {
        NearMiss.hint(for: name, among: ["send", "exec", "check", "cache", "help"])
    }
}
