// SPDX-License-Identifier: Apache-2.0

/// Numbers of bytes as people read them.
public enum ByteCount {
    /// Returns a number of bytes in the largest binary unit that it fills, to a tenth:
    /// `512 bytes`, `100 KiB`, `1.5 MiB`.
    public static func text(_ bytes: Int64) -> String {
        let units = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]
        if bytes < 1024 { return bytes == 1 ? "1 byte" : "\(bytes) bytes" }
        var value = Double(bytes) / 1024
        var unit = 0
        while value >= 1024, unit < units.count - 1 {
            value /= 1024
            unit += 1
        }
        let tenths = (value * 10).rounded() / 10
        let isWhole = tenths == tenths.rounded()
        return (isWhole ? String(Int64(tenths)) : String(tenths)) + " " + units[unit]
    }
}
