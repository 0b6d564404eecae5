//! Functions of blocks of addresses. Of IPv4 only.

use std::net::Ipv4Addr;

/// The address and the length of its prefix.
fn parse(block: &str) -> Result<(u32, u32), String> {
    let wrong = || format!("{block} is no block of IPv4 addresses");
    let (address, length) = block.split_once('/').ok_or_else(wrong)?;
    let address: Ipv4Addr = address.parse().map_err(|_| wrong())?;
    let length: u32 = length
        .parse()
        .ok()
        .filter(|length| *length <= 32)
        .ok_or_else(wrong)?;
    Ok((u32::from(address) & mask(length), length))
}

fn mask(length: u32) -> u32 {
    u32::MAX.checked_shl(32 - length).unwrap_or(0)
}

/// A block inside a block.
pub(super) fn subnet(block: &str, more: u64, number: u64) -> Result<String, String> {
    let (address, length) = parse(block)?;
    let more = u32::try_from(more).map_err(|error| error.to_string())?;
    let longer = length.saturating_add(more);
    if longer > 32 {
        return Err(format!("{block} has no room for {more} more bits"));
    }
    if u64::from(more) < 64 && number >= 1 << more {
        return Err(format!("{block} has no block {number} of {more} more bits"));
    }
    let number = u32::try_from(number).map_err(|error| error.to_string())?;
    let inside = number.checked_shl(32 - longer).unwrap_or(0);
    Ok(format!("{}/{longer}", Ipv4Addr::from(address | inside)))
}

/// An address inside a block.
pub(super) fn host(block: &str, number: u64) -> Result<String, String> {
    let (address, length) = parse(block)?;
    let number = u32::try_from(number).map_err(|error| error.to_string())?;
    if number & mask(length) != 0 && length > 0 {
        return Err(format!("{block} has no address {number}"));
    }
    Ok(Ipv4Addr::from(address | number).to_string())
}
