/// The command `turnpike --help`.
enum Help {
    static let text = """
        turnpike: HTTP from a shell, through a stack of gates

          turnpike send https://example.com/
              GET; the answer goes to standard output
          turnpike send POST https://example.com/users -H 'Content-Type: application/json' -d '{"name":"Ada"}'
          turnpike send POST https://example.com/files -d @report.pdf
          turnpike send https://example.com/big.iso -o big.iso
              with a progress bar, if it takes more than a second on a terminal
          turnpike send https://example.com/users/1 --json
              status, header fields, body and what happened, as one JSON object
          turnpike send --stack stack.json users/1
              through the client that a stack file describes

          turnpike check stack.json
              every mistake in a stack file, with its place
          turnpike exec [--stack stack.json]
              JSON Lines in, JSON Lines out: one exchange each

        send [METHOD] URL  [-H name:value]… [-d body | -d @file] [-F name=value]… [--stack FILE] [-o FILE] [--json]

        exit status: 0 answered, 2 wrong usage or file, 3 no connection, 4 out of time, 5 answer refused,
        6 answer broken, 7 a file cannot be read or written, 130 Ctrl-C, 1 anything else
        """
}
