// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore

extension SerializerTable {
    /// The built-in serializers and decoders, in order of preference.
    ///
    /// | name | media types | value |
    /// |---|---|---|
    /// | `json-decoder` | `application/json`, `+json` | `Decodable` types |
    /// | `property-list-decoder` | `application/x-plist`, `application/xml`, `text/xml`, `+xml` | `Decodable` types |
    /// | `json` | `application/json`, `+json` | ``/TurnpikeCore/JSONValue`` |
    /// | `property-list` | `application/x-plist`, … | ``PropertyListValue`` |
    /// | `string` | `text/*` | `String` |
    /// | `data` | `*/*` | `Data` |
    public static var standard: SerializerTable {
        var table = SerializerTable()
        table.register(JSONValueDecoder(), as: "json-decoder", for: [.json])
        table.register(
            PropertyListValueDecoder(), as: "property-list-decoder",
            for: PropertyListFormat.mediaTypes)
        table.register(JSONSerializer(), as: "json", for: [.json, "text/json"])
        table.register(
            PropertyListSerializer(), as: "property-list", for: PropertyListFormat.mediaTypes)
        table.register(StringSerializer(), as: "string", for: [MediaType("text", "*")])
        table.register(DataSerializer(), as: "data", for: [.any])
        return table
    }
}
