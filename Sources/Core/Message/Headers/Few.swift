// SPDX-License-Identifier: Apache-2.0

/// A list whose first element is stored inline, for lists that rarely have a second element.
struct Few<Element> {
    private var first: Element?
    private var others: [Element] = []

    mutating func append(_ element: Element) {
        if first == nil { first = element } else { others.append(element) }
    }

    func forEach(_ body: (Element) throws -> Void) rethrows {
        guard let first else { return }
        try body(first)
        for element in others { try body(element) }
    }
}

extension Few: Sendable where Element: Sendable {}
