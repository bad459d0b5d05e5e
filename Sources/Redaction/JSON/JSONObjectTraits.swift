// SPDX-License-Identifier: Apache-2.0

/// The facts about other members of a JSON object that follow from its members.
struct JSONObjectTraits {
    /// What the value of a member reveals about other members.
    enum Telling {
        case nothing
        /// The value is the name of another value: `"name": "password"`.
        case name
        /// The value is the path of another value: `"path": "/user/password"` (RFC 6902).
        case path
        /// The object is a JSON Web Key (RFC 7517).
        case keyType
        /// The kind of a Kubernetes object.
        case kind
        /// The object is a Kubernetes object.
        case version
    }

    /// Whether a member makes another member a secret, or could do so in the text that was cut off.
    private(set) var namesSecret = false
    private var pathNamesSecret = false
    private var isKey = false
    private var isSecretOfKubernetes = false
    private var isListOfSecrets = false
    private var hasName = false
    private var hasKind = false
    private var isOfKubernetes = false
    // The object that has an array with this object.
    private let list: Int32?

    init(list: Int32?) { self.list = list }

    static func telling(_ name: [UInt8]) -> Telling {
        if SecretNames.namesAnother(name) { return .name }
        switch name.count {
        case 3 where name.elementsEqual("kty".utf8): return .keyType
        case 4 where name.elementsEqual("path".utf8): return .path
        case 4 where name.elementsEqual("kind".utf8): return .kind
        case 10 where name.elementsEqual("apiVersion".utf8): return .version
        default: return .nothing
        }
    }

    mutating func note(_ told: Telling) {
        switch told {
        case .keyType: isKey = true
        case .version: isOfKubernetes = true
        default: break
        }
    }

    mutating func note(_ told: Telling, text: ArraySlice<UInt8>, _ rules: SecretRules) {
        switch told {
        case .name:
            hasName = true
            if rules.hides(key: text) { namesSecret = true }
        case .path:
            if SecretNames.isPathOfSecret(JSONRedactor.meaning(of: text), rules) {
                pathNamesSecret = true
            }
        case .kind:
            hasKind = true
            let kind = JSONRedactor.meaning(of: text)
            isSecretOfKubernetes = kind.elementsEqual("Secret".utf8)
            isListOfSecrets = kind.elementsEqual("SecretList".utf8)
        case .nothing, .keyType, .version: break
        }
    }

    /// Records that the text ends within the object, and that the missing members are unknown.
    mutating func doubt() {
        if !hasName { namesSecret = true }
        isKey = true
        if isOfKubernetes, !hasKind {
            isSecretOfKubernetes = true
            isListOfSecrets = true
        }
    }

    func hides(_ name: [UInt8], of objects: [JSONObjectTraits]) -> Bool {
        if namesSecret, SecretNames.isValueOfAnother(name) { return true }
        if pathNamesSecret, name.elementsEqual("value".utf8) { return true }
        if isKey, SecretNames.isPrivatePartOfKey(name) { return true }
        guard name.elementsEqual("data".utf8) else { return false }
        return isSecretOfKubernetes || list.map { objects[Int($0)].isListOfSecrets } == true
    }
}
