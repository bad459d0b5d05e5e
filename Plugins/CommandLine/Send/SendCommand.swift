enum SendCommand { static func run(_ arguments: [String]) async -> Int32 { 1 } }
