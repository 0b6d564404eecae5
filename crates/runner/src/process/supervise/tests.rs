use super::*;

#[test]
fn an_order_survives_being_arguments() {
    let order = Order {
        lock: "/w/lock".into(),
        stdout: "/w/out".into(),
        stderr: "/w/err".into(),
        grace: Duration::from_millis(1500),
        program: "/bin/terraform".into(),
        args: vec!["plan".into(), "-out=with space".into(), "--".into()],
    };
    assert_eq!(Order::from_args(order.to_args()), Ok(order));
}

#[test]
fn an_order_with_a_hole_is_refused() {
    let cases: [&[&str]; 3] = [&[], &["l", "o", "e", "10"], &["l", "o", "e", "soon", "p"]];
    for args in cases {
        assert!(
            Order::from_args(args.iter().map(OsString::from)).is_err(),
            "{args:?}"
        );
    }
}
