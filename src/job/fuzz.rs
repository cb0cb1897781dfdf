//! Entrances for fuzzing: see [`crate::fuzz`].

use super::SavedPlan;

/// A saved plan: what it names is absolute and plain.
pub fn plan(bytes: &[u8]) {
    let Ok(plan) = SavedPlan::parse(bytes) else { return };
    for path in [plan.source(), plan.out()] {
        assert!(path.is_absolute());
        assert!(!path.components().any(|part| part == std::path::Component::ParentDir), "{}", path.display());
    }
}
