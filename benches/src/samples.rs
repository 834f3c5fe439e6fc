//! Durations that were seen, and what is read off them.

use std::fmt;
use std::time::Duration;

/// Durations that were seen, in order of size.
#[derive(Debug, Clone, Default)]
pub struct Samples(Vec<Duration>);

impl Samples {
    /// Sorts what was seen.
    pub fn of(mut seen: Vec<Duration>) -> Self {
        seen.sort_unstable();
        Self(seen)
    }

    /// All of them, in order of size.
    pub fn into_seen(self) -> Vec<Duration> {
        self.0
    }

    /// The duration that this share of all is not above: 0.5 is the median.
    pub fn at(&self, share: f64) -> Duration {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a place in a list of samples"
        )]
        #[expect(clippy::cast_precision_loss, reason = "a place in a list of samples")]
        let place = (self.0.len() as f64 * share) as usize;
        self.0.get(place.min(self.0.len().saturating_sub(1))).copied().unwrap_or_default()
    }

    /// The median.
    pub fn p50(&self) -> Duration {
        self.at(0.5)
    }

    /// What one in a hundred is above.
    pub fn p99(&self) -> Duration {
        self.at(0.99)
    }

    /// The longest.
    pub fn most(&self) -> Duration {
        self.0.last().copied().unwrap_or_default()
    }
}

/// A duration in the unit in which it is read most easily.
#[derive(Debug, Clone, Copy)]
pub struct Short(pub Duration);

impl fmt::Display for Short {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micros = micros(self.0);
        match micros {
            ..10.0 => write!(f, "{micros:.2} µs"),
            ..1000.0 => write!(f, "{micros:.1} µs"),
            _ => write!(f, "{:.2} ms", micros / 1000.0),
        }
    }
}

/// A duration in microseconds.
pub fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}
