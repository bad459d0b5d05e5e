// SPDX-License-Identifier: Apache-2.0

import Foundation
import Turnpike
import TurnpikeSupport

extension SendOptions {
    /// Asks for the password of `-u user`, which is better kept out of the list of processes.
    mutating func askForPassword(_ terminal: Terminal) async throws {
        guard let user, user.password == nil else { return }
        let name = Grammar.escaped(user.name)
        set(password: try await terminal.password("Password of \(name): "))
    }
}

extension HTTPHeaders {
    /// Adds a credential for Basic authentication, in UTF-8 (RFC 7617 §2).
    ///
    /// It is a field of the request, so that it goes before a credential of the stack, and a
    /// redirect takes it to no other origin.
    mutating func authorize(_ user: SendOptions.User?) {
        guard let user else { return }
        let text = "\(user.name):\(user.password ?? "")".precomposedStringWithCanonicalMapping
        self[.authorization] = "Basic " + Data(text.utf8).base64EncodedString()
    }
}
