// SPDX-License-Identifier: Apache-2.0

import TurnpikeSupport

/// Decides which names belong to secrets: names of header fields, query items, form fields, JSON
/// members, XML elements and attributes.
package enum SecretNames {
    /// Returns the letters and digits of a name in lower case: `X-Api_Key` and `xApiKey` are equal.
    static func folded(_ name: some Sequence<UInt8>) -> [UInt8] {
        name.lazy.map(Grammar.lowercased).filter(Grammar.isAlphanumeric)
    }

    /// Whether a name contains a word for a secret and does not only describe one (`token_type`).
    static func isKeyLike(_ name: some Sequence<UInt8>) -> Bool {
        guard mayHoldSecretWord(name) else { return false }
        let text = folded(name)
        return text.count >= 4 && text.indices.contains { isSecretWord(text, at: $0) }
            && !describes(Array(name))
    }

    // Whether a name only describes a secret: one of these endings begins a word of the name.
    private static func describes(_ name: [UInt8]) -> Bool {
        let text = folded(name)
        return describing.contains {
            text.hasSuffix($0) && isBorder(name, text, at: text.count - $0.count)
        }
    }

    // Behind a sign or a digit, where the case changes (`tokenURLType`), or behind a word for a
    // secret (`tokentype`).
    private static func isBorder(_ name: [UInt8], _ text: [UInt8], at start: Int) -> Bool {
        let place = name.indices.filter { Grammar.isAlphanumeric(name[$0]) }[start]
        guard place > 0, Grammar.lowercased(name[place - 1]) &- 0x61 < 26 else { return true }
        let isUpper = name[(place - 1)...].prefix(3).map { $0 & 0x20 == 0 }
        if isUpper[1], !isUpper[0] || isUpper.last == false { return true }
        let before = Array(text[..<start])
        return words.contains { before.hasSuffix($0) || before.hasSuffix($0 + [0x73]) }
    }

    // A quick check by three letters of each word, for every name in every printed text.
    private static func mayHoldSecretWord(_ name: some Sequence<UInt8>) -> Bool {
        var last: UInt32 = 0
        for byte in name where Grammar.isAlphanumeric(byte) {
            last = (last << 5 | UInt32(byte & 31)) & 0x7FFF
            if beginsWord[Int(last)] { return true }
        }
        return false
    }

    private static let beginsWord: [Bool] = {
        var begins = [Bool](repeating: false, count: 1 << 15)
        for word in words {
            begins[word.prefix(3).reduce(0) { $0 << 5 | Int($1 & 31) }] = true
        }
        return begins
    }()

    private static func isSecretWord(_ name: [UInt8], at start: Int) -> Bool {
        let rest = name[start...]
        return words.contains { $0[0] == name[start] && rest.starts(with: $0) }
            && !harmless.contains { rest.starts(with: $0) }
    }

    /// Whether a short name such as `code` belongs to a secret in queries and JSON.
    static func isShortKey(_ name: some Sequence<UInt8>) -> Bool {
        shortKeys.contains(name) { $0 < 0x80 }
    }

    /// Whether a short name of a secret is unambiguous in prose too.
    static func isShortKeyInText(_ name: some Sequence<UInt8>) -> Bool {
        shortKeysInText.contains(name) { $0 < 0x80 } || endsInWord(name, of: lastWordsInText)
    }

    static func isHeader(_ name: String) -> Bool {
        isHeader(name.utf8)
    }

    private static func isHeader(_ name: some Collection<UInt8>) -> Bool {
        secretHeaders.contains(name) || isKeyLike(name) || hasHeaderWord(name)
    }

    private static func hasHeaderWord(_ name: some Collection<UInt8>) -> Bool {
        name.split { !Grammar.isAlphanumeric($0) }.contains { headerWords.contains($0) }
    }

    /// Whether a name of a secret header field belongs to a secret in queries and JSON too.
    ///
    /// Except in `X-Auth-User`, the last word decides; `auth-method`, for example, is not secret.
    static func isFieldName(_ name: some Collection<UInt8>) -> Bool {
        if secretHeaders.contains(name) || endsInWord(name, of: lastWordsOfKeys) { return true }
        guard name.contains(0x2D), hasHeaderWord(name) else { return false }
        if name.starts(with: "x-".utf8, by: { Grammar.lowercased($0) == $1 }) {
            return !describes(Array(name))
        }
        return lastWordsOfKeys.contains(name.split { $0 == 0x2D }.last ?? [])
    }

    private static func endsInWord(_ name: some Sequence<UInt8>, of list: WordSet) -> Bool {
        name.contains(0x5F) && list.contains(name.split { $0 == 0x5F || $0 == 0x2D }.last ?? [])
    }

    /// Whether a name before a colon in text is the name of a secret header field.
    static func isHeaderInText(_ name: some Collection<UInt8>) -> Bool {
        secretHeaders.contains(name) || (name.contains(0x2D) && isHeader(name))
    }

    /// Whether a name belongs to a count of tokens, as language models report.
    static func isCount(_ name: some Sequence<UInt8>) -> Bool {
        folded(name).hasSuffix(Array("tokens".utf8))
    }

    /// Whether a member is an error code, such as `"code": 404`, and not an authorization code.
    static func isCodeOfError(
        _ name: some Sequence<UInt8>, _ value: some Collection<UInt8>
    ) -> Bool {
        folded(name).elementsEqual("code".utf8) && value.count < 40
            && (value.allSatisfy { Grammar.lowercased($0) &- 0x61 < 26 || "_-. ".utf8.contains($0) }
                || (value.count <= 3 && value.allSatisfy(Grammar.isDigit)))
    }

    package static func namesAnother(_ name: some Sequence<UInt8>) -> Bool {
        naming.contains(name, where: Grammar.isAlphanumeric)
    }

    package static func isValueOfAnother(_ name: some Sequence<UInt8>) -> Bool {
        valued.contains(name, where: Grammar.isAlphanumeric)
    }

    private static func set(_ text: String) -> Set<[UInt8]> {
        Set(text.split(separator: " ").map { Array($0.utf8) })
    }

    private static let secretHeaders = WordSet(
        "authorization proxy-authorization cookie cookie2 set-cookie set-cookie2"
            + " authentication-info proxy-authentication-info")

    // Each of these words must be a separate word of a name, as in `X-Auth` or `X-Jwt-Assertion`.
    private static let headerWords = WordSet(listOfHeaderWords)
    private static let listOfHeaderWords =
        "auth jwt saml pass pwd pin otp totp csrf xsrf sid sessid session hmac cred creds bearer"

    // Each of these ends a name after a low line: `db_pass`.
    private static let lastWordsOfKeys = WordSet(listOfHeaderWords + " cookie")
    private static let lastWordsInText = WordSet("pass pwd pin otp totp")

    private static let shortKeys = WordSet(
        "sig signature code auth key pwd pass jwt sid session awsaccesskeyid assertion"
            + " id_token_hint otp totp pin csrf xsrf saml cred creds bearer hmac ticket cvv cvc"
            + " stringdata")

    private static let shortKeysInText = WordSet("pwd awsaccesskeyid cvv cvc sid otp totp")

    private static let words = set(
        """
        token secret apikey appkey accesskey privatekey password passwd passphrase passcode \
        credential \
        signature sessionid sessid authkey authorization subscriptionkey functionskey \
        applicationkey masterkey encryptionkey customerkey signingkey accountkey sharedkey \
        sessionkey clientassertion samlresponse codeverifier devicecode authcode csrf xsrf jwt \
        connectionstring passwort kennwort contrasena motdepasse wachtwoord onetimecode \
        onetimepin verificationcode verifycode confirmationcode securitycode authenticationcode \
        authorizationcode signincode logincode accesscode otpcode mfacode twofactorcode 2facode \
        smscode emailcode pincode unlockcode resetcode activationcode recoverycode backupcode \
        usercode oauthverifier recoverykey recoveryphrase seedphrase mnemonic
        """)

    // Harmless words that begin like a word for a secret.
    private static let harmless = set(
        "secretary secretarie secretaria tokeniz tokenise tokenisa tokenisin")

    // Endings of names that only describe a secret.
    private static let describing = set(
        """
        type types expires expiresin expiresat expiry expiration ttl lifetime count limit length \
        size policy supported required enabled changedat createdat updatedat algorithm strength \
        tokensdetails
        """)

    private static let naming = WordSet(
        "name key field header param parameter property attribute fieldname parametername"
            + " parameterkey attributename variablename headername optionname")
    private static let valued = WordSet(
        "value val content parametervalue attributevalue fieldvalue oldvalue newvalue"
            + " stringvalue fromstring tostring")

    /// Whether a member of a JSON Web Key is a part of a private or a symmetric key (RFC 7518 §6).
    static func isPrivatePartOfKey(_ name: [UInt8]) -> Bool {
        ["d", "p", "q", "dp", "dq", "qi", "oth", "k"].contains { name.elementsEqual($0.utf8) }
    }

    /// Whether a path names a secret: a JSON Pointer (RFC 6901), or a path of SCIM.
    static func isPathOfSecret(_ path: some Collection<UInt8>, _ rules: SecretRules) -> Bool {
        path.split { "/.:[]~".utf8.contains($0) }.contains { rules.hides(key: $0) }
    }

    /// Whether a word can end a name of several words: "API key", "verification code".
    static func endsName(_ word: some Sequence<UInt8>) -> Bool { lastWords.contains(word) }

    static func isTypedCode(_ word: some Sequence<UInt8>) -> Bool { typedCodes.contains(word) }

    private static let lastWords = WordSet("key code pin otp totp phrase")
    private static let typedCodes = WordSet("code pin otp totp passcode")
}

extension [UInt8] {
    func hasSuffix(_ suffix: [UInt8]) -> Bool {
        count >= suffix.count && self[(count - suffix.count)...].elementsEqual(suffix)
    }
}
