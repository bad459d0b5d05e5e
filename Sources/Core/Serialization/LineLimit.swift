/// The longest line, item or event of a streamed response in bytes: 1 MiB unless a gate sets
/// another limit.
public enum LineLimit: ContextKey {
    /// 1 MiB.
    public static var defaultValue: Int { 1_048_576 }
}
