// SPDX-License-Identifier: Apache-2.0

import Foundation
import Turnpike
import TurnpikeSupport

// The code of the page "Cookbook: signatures"; a test compares them.

struct WebhookSignature: SynchronousRequestAdapter {
    let key: Data

    func adapt(_ request: inout Request, context: Context) throws {
        guard let content = request.body.inMemory, let id = request.headers["webhook-id"] else {
            throw ClientError(.invalidRequest, "a webhook needs content in memory and a webhook-id")
        }
        let time = String(Int(context.timeSource.date.timeIntervalSince1970))
        let code = HMACSHA256.code(for: Data("\(id).\(time).".utf8) + content, key: key)
        request.headers["webhook-timestamp"] = time
        request.headers["webhook-signature"] = "v1,\(code.base64EncodedString())"
    }
}

func makeWebhookClient(key: Data, _ transport: any Transport) -> Client {
    Client(
        transport: transport,
        stack: [
            .deadline(.seconds(60)), .validate(contentType: .any), .retry(attempts: 5),
            WebhookSignature(key: key), .urlPolicy(schemes: ["https"], denyPrivate: .always),
            .attemptTimeout(.seconds(10)), .limits(),
        ])
}

func deliver(_ event: JSONValue, id: String, to url: URL, _ client: Client) async throws {
    try await client.post(Target(url), body: .json(event), headers: ["webhook-id": id])
        .retryable().empty()
}

func isGenuine(
    _ content: Data, id: String, time: String, signatures: String, keys: [Data],
    now: Date = Date()
) -> Bool {
    guard let sent = TimeInterval(time), abs(now.timeIntervalSince1970 - sent) <= 300 else {
        return false  // an old message that somebody sends again
    }
    let message = Data("\(id).\(time).".utf8) + content
    let codes = signatures.split(separator: " ").prefix(8).filter { $0.hasPrefix("v1,") }
        .compactMap { Data(base64Encoded: String($0.dropFirst(3))) }
    return codes.contains { code in
        keys.contains { HMACSHA256.isValid(code, for: message, key: $0) }
    }
}

struct S3Signature: RequestAdapter {
    let keyID: String
    let secret: String
    let region: String

    func adapt(_ request: inout Request, context: Context) async throws {
        let time = Self.stamp(context.timeSource.date)
        let hash = try await SHA256.digest(of: request.body).hexadecimal
        request.headers["x-amz-date"] = time
        request.headers["x-amz-content-sha256"] = hash
        let day = [String(time.prefix(8)), region, "s3", "aws4_request"]
        let scope = day.joined(separator: "/")
        let (names, canonical) = canonicalForm(of: request, hash)
        let digest = SHA256.digest(of: Data(canonical.utf8)).hexadecimal
        let key = day.reduce(Data("AWS4\(secret)".utf8)) {
            HMACSHA256.code(for: Data($1.utf8), key: $0)
        }
        let text = "AWS4-HMAC-SHA256\n\(time)\n\(scope)\n\(digest)"
        let code = HMACSHA256.code(for: Data(text.utf8), key: key).hexadecimal
        request.headers[.authorization] =
            "AWS4-HMAC-SHA256 Credential=\(keyID)/\(scope),SignedHeaders=\(names),Signature=\(code)"
    }
}

extension S3Signature {
    /// The names of the signed fields, and the request in the form that the server signs too.
    func canonicalForm(of request: Request, _ hash: String) -> (names: String, text: String) {
        let parts = URLComponents(url: request.url, resolvingAgainstBaseURL: true)
        let encode = PercentEncoding.unreserved.encode
        let items = (parts?.queryItems ?? []).map { (encode($0.name), encode($0.value ?? "")) }
        let query = items.sorted { $0 < $1 }.map { "\($0)=\($1)" }.joined(separator: "&")
        let path = PercentEncoding(alsoAllowing: "-._~/").encode(parts?.path ?? "")
        var fields = ["host": (parts?.host ?? "") + (parts?.port.map { ":\($0)" } ?? "")]
        for field in request.headers {
            let name = field.name.lowercased
            guard name.hasPrefix("x-amz-") || ["date", "range"].contains(name) else { continue }
            fields[name] = request.headers[field.name]
        }
        let names = fields.keys.sorted()
        let lines = names.map { "\($0):\(fields[$0] ?? "")\n" }.joined()
        let signed = names.joined(separator: ";")
        return (signed, "\(request.method)\n\(path)\n\(query)\n\(lines)\n\(signed)\n\(hash)")
    }

    static func stamp(_ date: Date) -> String {
        date.formatted(
            .iso8601.year().month().day().time(includingFractionalSeconds: false)
                .timeZone(separator: .omitted).dateSeparator(.omitted).timeSeparator(.omitted))
    }
}
