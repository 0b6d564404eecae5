use super::*;

#[test]
fn fixed_expressions_compile() {
    for fixed in [
        &BASE64,
        &CREDIT_CARD,
        &HEX_COLOR,
        &HOSTNAME,
        &RGB_COLOR,
        &SSN,
        &TIME,
        &GO_DURATION,
        &WORDY_DURATION,
        &EMAIL,
    ] {
        assert!(fixed.0.is_some());
    }
}

#[test]
fn strings() {
    let cases: &[(&str, &[&str], &[&str])] = &[
        ("byte", &["aGk=", "aGVsbG8h"], &["", "a", "aGk", "!!!!"]),
        (
            "cidr",
            &["10.0.0.0/8", "010.0.0.0/8", "2001:db8::/32"],
            &["10.0.0.0", "10.0.0.0/33", "x/8", "1.2.3/8"],
        ),
        (
            "creditcard",
            &["4111 1111 1111 1111"],
            &["4111 1111 1111 1112", "1"],
        ),
        (
            "date",
            &["2024-02-29"],
            &["2023-02-29", "2024-2-9", "2024-01-01T00:00:00Z", ""],
        ),
        (
            "date-time",
            &["2024-01-02T03:04:05Z", "2024-01-02t03:04:05.123+02:00"],
            &["2024-01-02", "2024-01-02T24:00:00Z", "2024-01-02T03:04:05", "now"],
        ),
        (
            "duration",
            &["1h30m", "-1.5s", "0", "22 ns", "3 weeks", "1 Day"],
            &["", "1", "h", "1 fortnight"],
        ),
        (
            "email",
            &["a@b.c", "A B <a@b.c>", "a+x@localhost"],
            &["a", "a@", "@b", "a b@c"],
        ),
        ("hexcolor", &["#fff", "00ff00"], &["#ff", "red"]),
        (
            "hostname",
            &["example.com", "localhost", "a-b.example.org"],
            &["-a.com", "a..b", "a_b.com", ""],
        ),
        (
            "ipv4",
            &["1.2.3.4", "01.02.03.04", "::ffff:1.2.3.4"],
            &["1.2.3", "1.2.3.256", "::1"],
        ),
        ("ipv6", &["::1", "2001:db8::1"], &["1.2.3.4", "g::"]),
        ("isbn10", &["0321751043", "0-8044-2957-X"], &["0321751044"]),
        ("isbn13", &["978-0321751041"], &["978-0321751042", "0321751043"]),
        ("isbn", &["0321751043", "978-0321751041"], &["1"]),
        ("k8s-long-name", &["a.b-c", "a"], &["A", "a..b", "-a", ""]),
        ("k8s-short-name", &["a-b"], &["a.b", "A", ""]),
        (
            "mac",
            &["00:00:5e:00:53:01", "0000.5e00.5301", "02-00-5e-10-00-00-00-01"],
            &["00:00", "x"],
        ),
        ("password", &["", "anything"], &[]),
        ("rgbcolor", &["rgb(255, 0,1)"], &["rgb(256,0,0)", "255,0,0"]),
        ("ssn", &["111-11-1111"], &["111111111", "x"]),
        (
            "uri",
            &["https://a.b/c?d=%20", "/path", "urn:x", "http://[::1]:80/"],
            &["", "a b", "http://a:b/", "%zz", "x"],
        ),
        (
            "uuid",
            &[
                "123e4567-e89b-12d3-a456-426614174000",
                "123E4567E89B12D3A456426614174000",
            ],
            &["123", "g"],
        ),
        (
            "uuid3",
            &["123e4567-e89b-32d3-c456-426614174000"],
            &["123e4567-e89b-12d3-a456-426614174000"],
        ),
        (
            "uuid4",
            &["123e4567-e89b-42d3-a456-426614174000"],
            &["123e4567-e89b-42d3-c456-426614174000"],
        ),
        (
            "uuid5",
            &["123e4567-e89b-52d3-a456-426614174000"],
            &["123e4567-e89b-42d3-a456-426614174000"],
        ),
        (
            "bsonobjectid",
            &["507f1f77bcf86cd799439011"],
            &["507f", "z07f1f77bcf86cd799439011"],
        ),
    ];
    for (name, good, bad) in cases {
        let format = Format::parse("string", name).unwrap_or_else(|| panic!("{name} is unknown"));
        for text in *good {
            assert!(format.fits(text), "{name} should take {text:?}");
        }
        for text in *bad {
            assert!(!format.fits(text), "{name} should refuse {text:?}");
        }
    }
}

#[test]
fn what_does_not_fit_the_type_is_ignored() {
    assert!(Format::parse("string", "int32").is_none());
    assert!(Format::parse("integer", "date").is_none());
    assert!(Format::parse("object", "date").is_none());
    assert!(Format::parse("string", "made-up").is_none());
    assert_eq!(Format::parse("integer", "int32").unwrap().kind, FormatKind::Int32);
    assert_eq!(
        Format::parse("number", "double").unwrap().kind,
        FormatKind::Double
    );
}
