// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore

extension MediaType {
    /// Creates the media type for a file extension, or nil if the extension is unknown.
    public init?(fileExtension: String) {
        guard let text = Self.byExtension[fileExtension.lowercased()],
            let type = MediaType(parsing: text)
        else { return nil }
        self = type
    }

    private static let byExtension: [String: String] = Dictionary(
        uniqueKeysWithValues: table.split(separator: "\n").flatMap { line in
            let words = line.split(separator: " ").map(String.init)
            return words.dropFirst().map { ($0, words[0]) }
        })

    // As registered with IANA, otherwise as servers commonly send them.
    private static let table = """
        application/epub+zip epub
        application/geo+json geojson
        application/gzip gz
        application/java-archive jar
        application/json json map
        application/ld+json jsonld
        application/msword doc
        application/octet-stream bin
        application/ogg ogx
        application/pdf pdf
        application/pgp-signature asc sig
        application/pkcs7-mime p7m
        application/pkix-cert cer
        application/postscript ps eps
        application/rtf rtf
        application/sql sql
        application/toml toml
        application/vnd.apple.mpegurl m3u8
        application/vnd.android.package-archive apk
        application/vnd.ms-excel xls
        application/vnd.ms-powerpoint ppt
        application/vnd.oasis.opendocument.presentation odp
        application/vnd.oasis.opendocument.spreadsheet ods
        application/vnd.oasis.opendocument.text odt
        application/vnd.openxmlformats-officedocument.presentationml.presentation pptx
        application/vnd.openxmlformats-officedocument.spreadsheetml.sheet xlsx
        application/vnd.openxmlformats-officedocument.wordprocessingml.document docx
        application/vnd.rar rar
        application/vnd.sqlite3 sqlite db
        application/wasm wasm
        application/x-7z-compressed 7z
        application/x-bzip2 bz2
        application/x-ndjson ndjson
        application/x-plist plist
        application/x-sh sh
        application/x-tar tar
        application/x-x509-ca-cert crt der pem
        application/x-xz xz
        application/xhtml+xml xhtml
        application/xml xml
        application/yaml yaml yml
        application/zip zip
        application/zstd zst
        audio/aac aac
        audio/flac flac
        audio/mp4 m4a
        audio/mpeg mp3
        audio/ogg ogg oga opus
        audio/wav wav
        font/otf otf
        font/ttf ttf
        font/woff woff
        font/woff2 woff2
        image/avif avif
        image/bmp bmp
        image/gif gif
        image/heic heic
        image/heif heif
        image/jpeg jpg jpeg
        image/jxl jxl
        image/png png
        image/svg+xml svg
        image/tiff tif tiff
        image/vnd.microsoft.icon ico
        image/webp webp
        text/calendar ics
        text/css css
        text/csv csv
        text/html html htm
        text/javascript js mjs
        text/markdown md markdown
        text/plain txt text log conf
        text/tab-separated-values tsv
        text/vcard vcf
        video/mp4 mp4 m4v
        video/mpeg mpg mpeg
        video/ogg ogv
        video/quicktime mov
        video/webm webm
        video/x-matroska mkv
        video/x-msvideo avi
        """
}
