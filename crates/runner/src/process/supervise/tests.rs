use super::*;

fn order(reach: Option<Reach>) -> Order {
    Order {
        lock: "/w/lock".into(),
        stdout: "/w/out".into(),
        stderr: "/w/err".into(),
        grace: Duration::from_millis(1500),
        reach,
        cwd: "/w/src".into(),
        program: "/bin/terraform".into(),
        args: vec!["plan".into(), "-out=with space".into(), "--".into()],
    }
}

#[test]
fn an_order_survives_being_arguments() {
    let reach = |read: &[&str], write: &[&str]| Reach {
        read: read.iter().map(Into::into).collect(),
        write: write.iter().map(Into::into).collect(),
    };
    for reach in [
        None,
        Some(Reach::default()),
        Some(reach(&["/a", "-"], &["/w/src", "3"])),
        Some(reach(&[], &["/w"])),
    ] {
        let order = order(reach);
        assert_eq!(Order::from_args(order.to_args()), Ok(order));
    }
}

#[test]
fn an_order_with_a_hole_is_refused() {
    let cases: [&[&str]; 6] = [
        &[],
        &["l", "o", "e", "10", "-"],
        &["l", "o", "e", "10", "-", "cwd"],
        &["l", "o", "e", "soon", "-", "cwd", "p"],
        &["l", "o", "e", "10", "some", "cwd", "p"],
        &["l", "o", "e", "10", "1", "/a", "9", "cwd", "p"],
    ];
    for args in cases {
        assert!(
            Order::from_args(args.iter().map(OsString::from)).is_err(),
            "{args:?}"
        );
    }
}

#[test]
fn variables_of_a_program_have_no_meaning_for_its_supervisor() {
    let wrapped = wrap_variable("LD_PRELOAD");
    assert!(!wrapped.starts_with("LD_"));
    let all = [(wrapped.as_str(), "evil.so"), ("PATH", "/bin")];
    let all = all.map(|(name, value)| (OsString::from(name), OsString::from(value)));
    let found: Vec<_> = order::unwrap_variables(all).collect();
    assert_eq!(found, [("LD_PRELOAD".into(), "evil.so".into())]);
}
