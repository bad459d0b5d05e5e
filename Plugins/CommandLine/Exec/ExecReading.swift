// SPDX-License-Identifier: Apache-2.0

import Foundation
import Turnpike
import TurnpikeCore
import TurnpikeDownloads
import TurnpikeStackFiles

struct ExecReading: Sendable {
    enum Kind: String, CaseIterable, Sendable {
        case data, string, json, propertyList, auto, lines, jsonLines, events, none
    }

    let kind: Kind
    let reconnects: Int
    let lastEventID: String
    let maxItems: Int?
    let download: Download?

    init(_ settings: Settings) {
        kind = settings.choice("serialize", default: .data)
        maxItems = settings.optionalInt("maxItems", in: 0...Int.max)
        let events = settings.object("events")
        reconnects = events?.int("reconnects", default: 0, in: 0...1_000_000) ?? 0
        lastEventID = events?.string("lastEventID") ?? ""
        events?.finish()
        download = settings.object("download").map { settings in
            defer { settings.finish() }
            return Download(settings)
        }
    }

    struct Download: Sendable {
        private let directory: String
        private let name: String?
        private let resumes: Bool
        private let overwrites: Bool

        init(_ settings: Settings) {
            directory = settings.required("directory")
            name = settings.string("name")
            resumes = settings.bool("resume", default: false)
            overwrites = settings.bool("overwrite", default: false)
        }

        var destination: DownloadDestination {
            let place = DownloadDestination.directory(
                URL(filePath: directory, directoryHint: .isDirectory), name: name)
            return overwrites ? place.replacingFile() : place
        }

        var options: DownloadOptions {
            DownloadOptions(resumes: resumes ? 3 : 0, keepsPartialFile: resumes)
        }
    }
}
