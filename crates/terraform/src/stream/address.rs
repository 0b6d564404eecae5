//! Addresses of resources.

/// The address of the resource in the configuration that an instance belongs to: without the keys of `count` and
/// `for_each`, also those of modules. Dependencies are known by these.
#[must_use]
pub fn configuration_address(address: &str) -> String {
    let mut bare = String::with_capacity(address.len());
    let mut chars = address.chars();
    while let Some(char) = chars.next() {
        if char == '[' {
            skip_key(&mut chars);
        } else {
            bare.push(char);
        }
    }
    bare
}

/// Reads to the bracket that closes. A quoted key may hold brackets and, after a backslash, quotes.
fn skip_key(chars: &mut std::str::Chars<'_>) {
    let mut quoted = false;
    while let Some(char) = chars.next() {
        match char {
            '\\' if quoted => {
                chars.next();
            }
            '"' => quoted = !quoted,
            ']' if !quoted => return,
            _ => {}
        }
    }
}
