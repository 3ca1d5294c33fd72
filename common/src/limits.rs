//! Limits that two tiers must agree on.

/// Largest body limit that a crawl may set; everything that carries a body is sized by it.
pub const MAX_BODY_BYTES: usize = 32 << 20;

/// Largest gRPC message: one page with its description, and headers.
pub const MAX_MESSAGE_BYTES: usize = MAX_BODY_BYTES + (16 << 20);

/// Largest text, in bytes, that a description keeps of one page.
pub const MAX_TEXT_BYTES: usize = 4 << 20;
