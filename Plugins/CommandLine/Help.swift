// SPDX-License-Identifier: Apache-2.0

import Foundation
import TurnpikeCore
import TurnpikeSupport

enum Help: String, CaseIterable {
    case overview, send, exec, check, explain, status, cache

    static func show(_ page: Help, _ terminal: Terminal) -> Int32 {
        show(page.text, terminal)
    }

    /// The program has the version of the library.
    static func showVersion(_ terminal: Terminal) -> Int32 {
        show("turnpike \(LibraryVersion.current)", terminal)
    }

    static func show(_ text: String, _ terminal: Terminal) -> Int32 {
        do {
            try terminal.line(text)
            return ExitCode.success
        } catch {
            return terminal.ended(by: error)
        }
    }

    static func asked(_ arguments: [String], _ page: Help, _ terminal: Terminal) -> Int32? {
        guard let first = arguments.first, first == "--help" || first == "-h" else { return nil }
        return show(page, terminal)
    }

    var text: String {
        switch self {
        case .overview: Self.overviewText
        case .send: Self.sendText + "\n\n" + Self.exitText
        case .exec: Self.execText
        case .check: Self.checkText
        case .explain: Self.explainText
        case .status: Self.statusText
        case .cache: Self.cacheText
        }
    }

    private static let overviewText = """
        turnpike: HTTP from a shell, through a stack of gates

          turnpike send https://example.com/
              sends one request and writes the response to standard output
          turnpike exec --stack stack.json <requests.jsonl
              reads and writes JSON Lines, one exchange per line
          turnpike check stack.json
              lists every mistake in a stack file, and in the order of its gates
          turnpike explain stack.json
              tells what each gate of a stack file does to a request, and the worst case of a call
          turnpike status /run/shop/status.sock
              tells why the calls of a running service fail or wait
          turnpike cache list folder
              lists the responses in a cache on disk; purge removes them
          turnpike --version
              the version of the program

        For details, run a command with --help, for example turnpike send --help.
        """

    private static let sendText = """
        turnpike send [METHOD] URL [-H name:value]… [-d body | -d @file | -F name=value…]
                      [-u user[:password]] [--timeout SECONDS]
                      [--transport curl|urlsession | --stack FILE]
                      [-o FILE] [-i | --json] [-v] [--trace[=FILE]] [--no-pretty]

          turnpike send https://example.com/
              GET; the response is written to standard output as it arrives
          turnpike send :8080/health
              a server on this machine: http://localhost:8080/health; :/health is on port 80
          turnpike send https://example.com/users -H 'Content-Type: application/json' -d '{"name":"Ada"}'
              POST, because there is a body; write any other method before the URL
          turnpike send PUT https://example.com/report -d @report.pdf
              a file, streamed; tar c . | turnpike send … -d @- sends standard input
          turnpike send https://example.com/photos -F title=Sea -F photo=@sea.jpg
              a multipart form; a value that begins with @ names a file
          turnpike send https://example.com/account -u ada
              Basic authentication; asks for the password, unless it is given as ada:password
          turnpike send https://example.com/big.iso -o big.iso
              the file appears when the download is complete; progress is shown after one second
          turnpike send https://example.com/users/1 -i
              shows the head before the content; with -o, the head goes to standard output
          turnpike send https://example.com/users/1 -v --timeout 2.5
              reports on standard error each request and response head, retries, redirects and
              times; the call may take at most 2.5 s
          turnpike send https://example.com/users/1 --trace
              shows on standard error where the time went: gates, attempts, waits, DNS, TLS, body
          turnpike send https://example.com/users/1 --trace=call.html
              writes the same as a page for a browser; call.har is for developer tools, call.svg is a
              picture, call.json is for programs, call.otlp.json for an OpenTelemetry collector
          turnpike send https://example.com/users/1 --json
              status, header fields, value and events, as one JSON object
          turnpike send wss://example.com/prices
              a WebSocket: sends each line of standard input as a message, and writes each received
              message as a line; the end of the input closes it; --timeout limits its handshake
          turnpike send --stack stack.json users/1
              uses the client that a stack file describes

        If standard output is a terminal, JSON of up to 1 MiB is indented and colored (--no-pretty:
        unchanged; NO_COLOR=1: without colors), control characters are shown as \\u{1b}, binary
        content is not shown, and a line end is added. Files and pipes get the bytes unchanged.

        -v and --trace hide secrets in heads and URLs, as logs do; -i and --json hide nothing.
        Fields that the transport adds, such as Host, are not shown.

        Without a stack file, the transport is curl where libcurl can be loaded, and otherwise
        urlsession. Redirects are followed, requests that may be repeated are sent up to three
        times, and the call ends if a body makes no progress for 30 s. An unsuccessful status is
        reported on standard error and by the exit status; the response is still written to
        standard output, but not to the file of -o.
        """

    private static let exitText = """
        exit status
            0  success
            1  any other failure
            2  invalid usage, request or stack file
            3  no connection: name resolution, network, TLS
            4  timeout
            5  response rejected for its status or type
            6  response incomplete, malformed or too large
            7  a file, the input or the output cannot be read or written
          130  ended by Ctrl-C, after cleaning up
        """

    private static let execText = """
        turnpike exec [--stack FILE] [--trace-server]

          echo '{"request": {"url": "https://example.com/"}}' | turnpike exec
              each line of standard input describes one exchange; for each, a line with the
              result is written to standard output
          turnpike exec --stack stack.json <requests.jsonl >results.jsonl
              runs the lines in order with the client that the stack file describes
          turnpike exec --trace-server <requests.jsonl
              prints an address of this machine on standard error; until the input ends, a browser
              shows there where the time of each call goes

        A line may contain: id, client (a name; lines with the same name share a client, at most 100
        names), stack, transport, baseURL, shared, request {method, url, query, headers,
        pathParameters, and one of text, base64, json, form, propertyList, file, stream, multipart},
        options {timeout, limits, retryable}, serialize (data, string, json, propertyList, auto,
        lines, jsonLines, events, none), events, download, cancelAfter, repeat, concurrency,
        stagger, maxItems.
        A result line contains the id, an outcome, and one result per repetition.

        Every line gets a result, whatever it contains. The exit status is 0 at the end of the
        input, 7 if the input cannot be read or a result cannot be written, and 130 after Ctrl-C,
        which cancels the current line and writes its result. A line with cancelAfter 0 sends
        nothing.
        """

    private static let checkText = """
        turnpike check FILE [--json]
        turnpike check --schema | --reference | --rules

          turnpike check stack.json
              prints nothing and exits with 0 if the stack file is valid; otherwise lists each
              mistake with its position, what was found and what was expected, and exits with 2;
              lists at most 100 mistakes, and then the number of the others
              then lists the faults in the order of the gates, with line and column; after an error,
              the exit status is 2; warnings and hints do not change it; a stack file turns a rule
              off with {"lint": {"ignore": ["RULE"]}}
          turnpike check stack.json --json
              writes all of it to standard output as one JSON object
          turnpike check --schema >stack.schema.json
              prints the JSON Schema of stack files; an editor completes a file that begins with
              {"$schema": "./stack.schema.json",
          turnpike check --reference
              prints each gate and transport with its settings, as Markdown
          turnpike check --rules
              prints the rules for the order of gates, as Markdown

        Nothing is sent, opened or created.
        """

    private static let explainText = """
        turnpike explain FILE [METHOD] [URL] [--json | --mermaid | --svg]

          turnpike explain stack.json
              lists each gate in order with what it does to a GET of the baseURL, and the most that
              one call can cost: sends, time, waits, bytes in memory and on disk, each with the gates
              that limit it
          turnpike explain stack.json POST users/1
              the same for another request; a relative URL needs the baseURL of the file
          turnpike explain stack.json --svg >stack.svg
              a picture; --mermaid prints a chart for Markdown, --json the figures for programs

        A single word in upper case is a method. Without a URL, the request goes to the baseURL of
        the file; a file without a baseURL needs a URL. With more than 100 gates, explain does
        not name the gates that limit a figure; with more than 1,000, it gives no figures. If a
        file has mistakes, explain lists the mistakes like turnpike check, and the exit status
        is 2. Secrets are hidden as in logs.

        Nothing is sent, opened or created.
        """

    private static let statusText = """
        turnpike status SOCKET [--json | --html]

          turnpike status /run/shop/status.sock
              the state of the clients of a service: first why calls fail or wait now, then each
              gate in order with its switch and figures; lines that begin with ! are trouble
          turnpike status /run/shop/status.sock --html >status.html
              a page for a browser; --json for programs

        The service opens the socket (StatusSocket), for its own user. The socket changes nothing.
        """

    private static let cacheText = """
        turnpike cache list DIRECTORY
        turnpike cache purge DIRECTORY [URL]

          turnpike cache list folder
              one line per response that the cache gate has stored there: status, bytes, age and
              remaining lifetime in seconds (negative if stale), URL, separated by tabs; secrets are
              hidden
          turnpike cache purge folder
              removes all responses
          turnpike cache purge folder https://example.com/users/1
              removes the responses for a URL, for all variants and users

        A client may use the folder at the same time; its responses in memory are not removed.
        """
}

enum NearMissCommand {
    static func hint(for name: String) -> String {
        NearMiss.hint(
            for: name, among: ["send", "exec", "check", "explain", "status", "cache", "help"])
    }
}
