// SPDX-License-Identifier: Apache-2.0

import Foundation
import Turnpike
import TurnpikeXML

// The code of the page "Cookbook: requests"; a test compares them.

struct Order: Codable, Sendable, Equatable {
    var id: Int
    var total: Int
}

func openTotal(_ client: Client) async throws -> Int {
    var total = 0
    for try await page in client.get("orders", query: ["state": "open"]).pages(of: [Order].self) {
        total += page.reduce(0) { $0 + $1.total }
    }
    return total
}

struct FoundOrders: Decodable, Sendable {
    var orders: [Order]
    var nextCursor: String?
}

func search(_ client: Client, _ text: String, upTo count: Int) async throws -> [Order] {
    let first = client.get("search", query: ["q": .init(text)])
    let pages = first.pages(of: FoundOrders.self) { page, _ in
        page.nextCursor.map { .query(["cursor": .init($0)]) }
    }
    var found: [Order] = []
    for try await page in pages {
        found += page.orders
        if found.count >= count { break }  // no further page is requested
    }
    return Array(found.prefix(count))
}

enum Payment: Equatable {
    case accepted
    case refused(missing: Int)
}

func pay(_ client: Client, _ order: Order) async throws -> Payment {
    do {
        try await client.post("payments", json: order).empty()
        return .accepted
    } catch let error as ClientError {
        guard let problem = error.problem,
            problem.type == "https://api.example.com/problems/out-of-credit",
            let balance = problem.members["balance"]?.int
        else { throw error }
        return .refused(missing: order.total - balance)
    }
}

func update(
    _ client: Client, _ id: Int, _ change: (inout Order) -> Void
) async throws -> Order {
    var attempt = 1
    while true {
        var (order, response) = try await client.get("orders/\(id)").decoded(Order.self)
        guard let tag = response.headers[.eTag] else {
            throw ClientError(.validation, "found no ETag; expected the version of the order")
        }
        change(&order)
        do {
            try await client.put("orders/\(id)", json: order, headers: [.ifMatch: tag])
                .retryable(false).empty()
            return order
        } catch let error as ClientError
            where error.response?.status == .preconditionFailed && attempt < 3
        {
            attempt += 1  // somebody else was faster: take what is there now
        }
    }
}

struct Job: Decodable, Sendable, Equatable {
    var result: String
}

func result(of job: Call, looks: Int = 100) async throws -> Job {
    for _ in 0..<looks {
        let response = try await job.response()
        if response.status != .accepted { return try await response.decode(Job.self) }
        _ = try await response.body.collect(upTo: 65_536)  // so that the connection is used again
        try await job.wait(for: response.headers.retryAfter(at: Date()) ?? .seconds(2))
    }
    throw ClientError(.deadlineExceeded, "the job was not done after \(looks) looks")
}

func fetchAll(
    _ ids: [Int], _ client: Client, width: Int = 8
) async -> [Int: Result<Order, any Error>] {
    await withTaskGroup(of: (Int, Result<Order, any Error>).self) { group in
        var results: [Int: Result<Order, any Error>] = [:]
        for (index, id) in ids.enumerated() {
            if index >= width, let (id, result) = await group.next() { results[id] = result }
            group.addTask {
                do {
                    return (id, .success(try await client.get("orders/\(id)").decode()))
                } catch {
                    return (id, .failure(error))
                }
            }
        }
        for await (id, result) in group { results[id] = result }
        return results
    }
}

struct GraphQLAnswer<Value: Decodable & Sendable>: Decodable, Sendable {
    struct Fault: Decodable, Sendable { var message: String }
    var data: Value?
    var errors: [Fault]?
}

func ask<Value: Decodable & Sendable>(
    _ client: Client, _ query: String, _ variables: JSONValue = [:], of type: Value.Type
) async throws -> Value {
    let answer = try await client.post(
        "graphql", body: .json(["query": .string(query), "variables": variables]),
        headers: [.accept: "application/graphql-response+json, application/json"]
    )
    .retryable(!query.hasPrefix("mutation")).decode(GraphQLAnswer<Value>.self)
    guard let value = answer.data, answer.errors == nil else {
        let messages = answer.errors?.map(\.message).joined(separator: "; ")
        throw ClientError(.validation, "the query failed: \(messages ?? "there is no data")")
    }
    return value
}

func headlines(_ client: Client) async throws -> [String] {
    let types = "application/rss+xml, application/xml;q=0.9"
    let feed = try await client.get("feed.xml", headers: [.accept: types]).xml()
    let items = feed.first("channel")?.children(named: "item") ?? []
    return items.compactMap { $0.first("title")?.text }
}

func makeSnakeCaseClient(_ transport: any Transport) -> Client {
    let decoder = JSONValueDecoder {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        decoder.dateDecodingStrategy = .secondsSince1970
        return decoder
    }
    var serializers = SerializerTable.standard
    serializers.register(decoder, as: "snake-case", for: [.json])
    return Client(
        baseURL: "https://api.example.com/v1/", transport: transport, stack: .standard,
        serializers: serializers)
}
