// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

enum FormNode {
    case text(String)
    case null
    case array([FormNode])
    case object([(name: String, node: FormNode)])
}

struct FormWriter {
    private let options: FormEncoder
    private let encoding: PercentEncoding

    private struct Field {
        let name: String
        let sortName: String
        let value: String
    }

    init(options: FormEncoder) {
        self.options = options
        let unescaped = options.unescaped.filter { !"%&=+# ".contains($0) }
        encoding = PercentEncoding(
            alsoAllowing: unescaped + (options.usesPlusForSpaces ? " " : ""))
    }

    func write(_ node: FormNode) -> String {
        var fields: [Field] = []
        add(node, "", "", isRoot: true, to: &fields)
        if options.sortsFields {
            // The fields are sorted by encoded name, and fields with equal names have their
            // original order. The sort key ends in `&`, which sorts after the `%` of a bracket and
            // before all letters.
            let keys = fields.map { encode($0.sortName) + "&" }
            fields = fields.indices.sorted { (keys[$0], $0) < (keys[$1], $1) }.map { fields[$0] }
        }
        return fields.map { encode($0.name) + "=" + encode($0.value) }.joined(separator: "&")
    }

    func write(_ query: Query) -> String {
        query.items.map { item in
            encode(item.name) + (item.value.map { "=" + encode($0) } ?? "")
        }.joined(separator: "&")
    }

    private func add(
        _ node: FormNode, _ name: String, _ sortName: String, isRoot: Bool = false,
        to fields: inout [Field]
    ) {
        switch node {
        case .text(let value):
            fields.append(Field(name: name, sortName: sortName, value: value))
        case .null:
            guard let value = options.nils.text else { return }
            fields.append(Field(name: name, sortName: sortName, value: value))
        case .array(let elements):
            for (index, element) in elements.enumerated() {
                add(
                    element, options.arrays.name(name, index),
                    options.arrays.sortName(sortName, index), to: &fields)
            }
        case .object(let members):
            for (key, member) in members {
                let key = options.keys.name(key)
                add(
                    member, isRoot ? key : options.keyPaths.name(name, key),
                    isRoot ? key : options.keyPaths.name(sortName, key), to: &fields)
            }
        }
    }

    private func encode(_ text: String) -> String {
        let encoded = encoding.encode(text)
        return options.usesPlusForSpaces ? encoded.replacing(" ", with: "+") : encoded
    }
}
