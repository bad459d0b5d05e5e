// SPDX-License-Identifier: Apache-2.0

import TurnpikeSupport

/// Words that people use about a secret without revealing it: "password: required", "Bearer token".
enum Prose {
    /// Whether a word continues a sentence or describes the state of a value.
    static func isWord(_ word: some Sequence<UInt8>) -> Bool {
        words.contains(word) { $0 != UInt8(ascii: ".") }
    }

    /// Whether a text of several words is a sentence: "can't be blank", "must have 8 characters".
    static func isSentence(_ text: some Collection<UInt8>) -> Bool {
        guard text.contains(0x20), text.count < 1000 else { return false }
        return text.split(separator: 0x20).contains { isWord($0) }
    }

    /// Whether a value is an everyday word.
    ///
    /// Searching for such a value would hide it everywhere.
    static func isCommon(_ value: some Sequence<UInt8>) -> Bool {
        isWord(value) || common.contains(value)
    }

    private static let words = WordSet(
        """
        a an the this that these your our its their my no not none nil null true false undefined \
        is are was were be been has have had do does did can cannot can't could may might must should \
        will would won't isn't wasn't doesn't and or but nor of for from to at in on by with without \
        within as if when while until before after because than then too very expected unexpected \
        required invalid missing empty incorrect wrong expired revoked malformed unknown \
        unsupported absent present optional forbidden denied failed blank mandatory \
        changed updated rotated reset sent set unset hidden redacted please enter choose use check try \
        see found given click here follow visit go
        """)

    private static let common = WordSet(
        "bearer basic string number boolean object public private secret password active enabled"
            + " disabled inactive default default_value authorization application production staging"
            + " development testing example anonymous username")
}
