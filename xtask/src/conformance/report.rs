//! What the comparison prints.

use anyhow::bail;
use apiary_conformance::{Allowed, Difference, Excused, Finding, PlayError, Recorded, Scenario, judge};

/// Collects the outcome of all scenarios.
pub(super) struct Report<'a> {
    allowed: &'a Allowed,
    show_allowed: bool,
    scenarios: usize,
    steps: usize,
    failed_steps: usize,
    failed_scenarios: Vec<String>,
}

impl<'a> Report<'a> {
    pub(super) fn new(allowed: &'a Allowed, show_allowed: bool) -> Self {
        Self {
            allowed,
            show_allowed,
            scenarios: 0,
            steps: 0,
            failed_steps: 0,
            failed_scenarios: Vec::new(),
        }
    }

    /// Compares the answers to one scenario and prints the differences.
    pub(super) fn scenario(
        &mut self,
        scenario: &Scenario,
        expected: &[Recorded],
        actual: Result<Vec<Recorded>, PlayError>,
    ) {
        self.scenarios += 1;
        let failed_before = self.failed_steps;
        let actual = actual.unwrap_or_else(|error| {
            println!("✗ {}: {}", scenario.name, chain(&error));
            self.failed_steps += 1;
            Vec::new()
        });
        self.steps += expected.len();
        let verdict = judge(&scenario.name, expected, &actual, self.allowed);
        if self.show_allowed {
            for Excused {
                step,
                difference,
                reason,
            } in &verdict.excused
            {
                println!(
                    "~ {} / {step}\n  {}\n      because  {reason}",
                    scenario.name,
                    indent(difference)
                );
            }
        }
        for Finding { step, differences } in &verdict.findings {
            println!("✗ {} / {step}", scenario.name);
            for difference in differences {
                println!("  {}", indent(difference));
            }
        }
        self.failed_steps += verdict.findings.len();
        if self.failed_steps == failed_before {
            println!("✓ {} ({} steps)", scenario.name, expected.len());
        } else {
            self.failed_scenarios.push(scenario.name.clone());
        }
    }

    /// Prints the sum, and fails when a difference was not meant.
    pub(super) fn finish(self, complete: bool) -> anyhow::Result<()> {
        if complete {
            for exception in self.allowed.unused() {
                println!(
                    "note: no difference needs the exception {} / {} / {} any more",
                    exception.scenario, exception.step, exception.path
                );
            }
        }
        println!(
            "{} scenarios, {} steps, {} with differences",
            self.scenarios, self.steps, self.failed_steps
        );
        if !self.failed_scenarios.is_empty() {
            bail!("the servers differ in {}", self.failed_scenarios.join(", "));
        }
        Ok(())
    }
}

fn indent(difference: &Difference) -> String {
    difference.to_string().replace('\n', "\n  ")
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text = format!("{text}: {error}");
        source = error.source();
    }
    text
}
