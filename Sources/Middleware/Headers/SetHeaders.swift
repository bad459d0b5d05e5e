public import TurnpikeCore

/// Sets and adds header fields on each request that passes.
public struct SetHeaders: SynchronousRequestAdapter {
    private let replacing: HTTPHeaders
    private let adding: HTTPHeaders

    /// Creates a gate that sets header fields.
    /// - Parameters:
    ///   - headers: Fields that replace those of their names.
    ///   - adding: Fields that are put behind those of their names.
    public init(_ headers: HTTPHeaders = [:], adding: HTTPHeaders = [:]) {
        replacing = headers
        self.adding = adding
    }

    /// Sets the fields.
    public func adapt(_ request: inout Request, context: Context) throws {
        if let defect = replacing.defect ?? adding.defect {
            throw ClientError(.invalidRequest, "the gate \(name): \(defect)")
        }
        var isFirst: Set<HTTPHeaders.Name> = []
        for field in replacing {
            if isFirst.insert(field.name).inserted {
                request.headers[field.name] = field.value
            } else {
                request.headers.append(field.name, field.value)
            }
        }
        for field in adding { request.headers.append(field.name, field.value) }
    }
}

extension Gate where Self == SetHeaders {
    /// Sets and adds header fields; see ``SetHeaders/init(_:adding:)``.
    public static func setHeaders(_ headers: HTTPHeaders = [:], adding: HTTPHeaders = [:]) -> Self {
        SetHeaders(headers, adding: adding)
    }
}
