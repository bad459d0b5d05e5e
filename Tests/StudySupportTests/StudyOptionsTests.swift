// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import StudySupport

@Suite("The options of a study")
struct StudyOptionsTests {
    private let program = StudyProgram(
        "sky-study", "[--seed N] …", maxSeeds: 9, flags: ["--rules"])

    @Test("Each option is read, in any order")
    func all() throws {
        let options = try StudyOptions(
            ["--rules", "--seeds", "9", "--json", "--seed", "7", "--svg", "a.svg"], of: program)
        #expect(options.seed == 7 && options.seeds == 9 && options.flags == ["--rules"])
        #expect(options.svg == "a.svg" && options.isJSON)
        let none = try StudyOptions([], of: program)
        #expect(none.seed == 1 && none.seeds == nil && none.svg == nil && !none.isJSON)
    }

    @Test(
        "What is not understood is answered with the usage",
        arguments: [
            ["--seed"], ["--seed", "-1"], ["--svg"], ["--seeds", "0"], ["--seeds", "10"],
            ["--rule"], ["x"],
        ])
    func wrong(arguments: [String]) {
        let error = #expect(throws: (any Error).self) {
            try StudyOptions(arguments[...], of: program)
        }
        #expect(error.map { "\($0)" } == "usage: sky-study [--seed N] …")
    }

    @Test("A study without seeds and flags knows neither", arguments: ["--seeds", "--rules"])
    func few(option: String) {
        let error = #expect(throws: (any Error).self) {
            try StudyOptions([option, "1"], of: StudyProgram("sky-study", ""))
        }
        #expect(error.map { "\($0)".hasPrefix("usage: sky-study") } == true)
    }
}
