// SPDX-License-Identifier: Apache-2.0

import TurnpikeSupport

extension ValkeyFault {
    /// What may be printed of a server's text: its kind, the phrases in it that servers have, and
    /// which of the keys of a shared state it names.
    ///
    /// A server or a proxy may repeat what it was sent, by this caller or by another one on the same
    /// connection, in any form: passwords, tokens, contents. So nothing of its own choice is printed.
    static func told(_ text: String, keys: [String] = []) -> String {
        let text = Grammar.beginning(of: text, upTo: 2048)
        let word = String(text.prefix { $0 != " " })
        let kind = kinds.contains(word) ? word : "an error of another kind"
        let known = phrases.filter { text.contains($0) }
        let named = keys.filter { $0.hasPrefix("turnpike:") && text.contains($0) }
        let parts = [kind] + known + (named.isEmpty ? [] : ["key " + shown(named[0])])
        return parts.count > 1
            ? parts.joined(separator: " ")
            : "\(kind) (its text may repeat what was sent, and is not shown)"
    }

    private static let kinds: Set<String> = [
        "ASK", "BUSY", "BUSYGROUP", "BUSYKEY", "CLUSTERDOWN", "CROSSSLOT", "DENIED", "ERR",
        "EXECABORT", "INPROG", "INVALIDOBJ", "IOERR", "LOADING", "MASTERDOWN", "MISCONF", "MOVED",
        "NOAUTH", "NOGOODSLAVE", "NOGROUP", "NOMASTERLINK", "NOPERM", "NOPROTO", "NOREPLICAS",
        "NOSCRIPT", "NOTBUSY", "NOTREADY", "OOM", "READONLY", "REDIRECT", "TRYAGAIN", "UNBLOCKED",
        "UNKILLABLE", "WRONGPASS", "WRONGTYPE",
    ]

    // Of Redis and Valkey. None has a place for anything else.
    private static let phrases = [
        "ACL failure in script", "Authentication required.", "DB index is out of range",
        "Error compiling script", "Error running script", "Hash slot not served",
        "Keys in request don't hash to the same slot", "Link with MASTER is down",
        "Multiple keys request during rehashing of slot", "No matching script.",
        "Operation against a key holding the wrong kind of value",
        "SELECT is not allowed in cluster mode", "The cluster is down",
        "This instance has cluster support disabled",
        "The user executing the script can't run this command or subcommand",
        "You can't write against a read only replica", "called without any password configured",
        "command not allowed when used memory > 'maxmemory'", "has no permissions to run",
        "has no permissions to access", "invalid DB index", "invalid password",
        "invalid username-password pair", "is busy running a script",
        "is loading the dataset in memory", "is no list of replicas", "is no number of a lock",
        "is no quota", "is no token",
        "max number of clients", "no password is set", "syntax error", "unknown command",
        "value is not an integer or out of range", "wrong number of arguments",
    ]
}
