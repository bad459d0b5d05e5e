extension FormEncoder.Keys {
    /// The name that a key becomes.
    func name(_ key: String) -> String {
        switch self {
        case .unchanged: key
        case .snakeCase: Self.words(key, joinedBy: "_")
        case .kebabCase: Self.words(key, joinedBy: "-")
        case .capitalized: key.prefix(1).uppercased() + key.dropFirst()
        case .uppercased: key.uppercased()
        case .lowercased: key.lowercased()
        case .custom(let make): make(key)
        }
    }

    // The words of a name in camel case. The first letter counts as a small one, whatever it is. A
    // run of capitals is one word up to the letter before the next small one: `myHTTPServer` is
    // my, HTTP, Server, and a run that no small letter follows lasts to the end.
    private static func words(_ name: String, joinedBy separator: Character) -> String {
        let letters = Array(name)
        var starts: Set<Int> = []
        var position = 1
        while let capital = letters.indices.first(where: {
            $0 >= position && letters[$0].isUppercase
        }) {
            starts.insert(capital)
            guard
                let small = letters.indices.first(where: { $0 > capital && letters[$0].isLowercase }
                )
            else { break }
            if small > capital + 1 { starts.insert(small - 1) }
            position = small + 1
        }
        var result = ""
        for (index, letter) in letters.enumerated() {
            if starts.contains(index) { result.append(separator) }
            result += letter.lowercased()
        }
        return result
    }
}
