//! Plans that are written down and run later.

use std::path::Path;

use shardsplit::Error;
use shardsplit::job::{Job, PlanReport, SavedPlan};
use shardsplit::plan::Method;
use shardsplit::progress::{Cancel, Silent};
use tantivy::{Index, IndexWriter, Term};

use super::{Place, assert_children, by_range, content, year};

fn save(place: &Place) -> (Job, std::path::PathBuf) {
    let job = place.job(&place.out("out"), &by_range("year", &["0"]));
    let file = place.out("plan.json");
    job.prepare(&Silent, &Cancel::new()).unwrap().save(&file).unwrap();
    (job, file)
}

fn run(file: &Path) -> Result<PlanReport, Error> {
    SavedPlan::read(file)?.prepare(file, &Silent, &Cancel::new())?.execute(&Silent, &Cancel::new())
}

#[test]
fn a_saved_plan_is_run_as_it_was_planned() {
    let place = Place::new();
    let (job, file) = save(&place);
    let saved = SavedPlan::read(&file).unwrap();
    assert_eq!(saved.source(), std::fs::canonicalize(place.source()).unwrap());
    assert!(saved.out().is_absolute() && saved.tool().starts_with("shardsplit "));
    let PlanReport::Shard(report) = run(&file).unwrap() else { panic!("expected a split of a shard") };
    assert!(report.verify.unwrap().is_clean());
    assert_children(&content(&place.source()), &job.out, 2, &|number| usize::from(year(number) >= 0));
    // The target is taken now.
    assert!(matches!(run(&file), Err(Error::TargetExists { .. })));
}

#[test]
fn a_plan_whose_source_changed_is_refused_before_anything_is_written() {
    for change in 0..3 {
        let place = Place::new();
        let (job, file) = save(&place);
        match change {
            0 => {
                let index = Index::open_in_dir(place.source()).unwrap();
                let mut writer: IndexWriter = index.writer_with_num_threads(1, 20_000_000).unwrap();
                writer.delete_term(Term::from_field_u64(index.schema().get_field("serial").unwrap(), 1));
                writer.commit().unwrap();
            }
            1 => {
                let meta = place.source().join("meta.json");
                let text = std::fs::read_to_string(&meta).unwrap();
                std::fs::write(&meta, format!("{text} ")).unwrap();
            }
            _ => {
                // Another index of the same documents: other segments.
                std::fs::remove_dir_all(place.source()).unwrap();
                std::fs::rename(Place::new().dir.keep().join("source"), place.source()).unwrap();
            }
        }
        let error = run(&file).unwrap_err();
        assert!(matches!(error, Error::SourceChanged { .. }), "{change}: {error}");
        assert!(!job.out.exists());
        let left: Vec<_> =
            std::fs::read_dir(place.dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left.len(), 2, "{left:?}");
    }
}

#[test]
fn a_plan_that_says_something_else_than_would_be_done_is_refused() {
    let place = Place::new();
    let (job, file) = save(&place);
    let text = std::fs::read_to_string(&file).unwrap();
    let altered = |from: &str, to: &str| {
        let changed = text.replacen(from, to, 1);
        assert_ne!(changed, text, "{from}");
        std::fs::write(&file, changed).unwrap();
        run(&file).unwrap_err()
    };
    let error = altered("\"0\"\n", "\"1\"\n");
    assert!(matches!(&error, Error::PlanFile { problem, .. } if problem.contains("other children")), "{error}");
    let error = altered("\"rewrite\"", "\"link\"");
    assert!(matches!(&error, Error::PlanFile { problem, .. } if problem.contains("other segments")), "{error}");
    let error = altered("\"format\": 1", "\"format\": 9");
    assert!(matches!(&error, Error::PlanFile { problem, .. } if problem.contains("format 9")), "{error}");
    assert!(!job.out.exists());
}

#[test]
fn a_plan_file_replaces_nothing_and_odd_ones_are_refused() {
    let place = Place::new();
    let (job, file) = save(&place);
    let before = std::fs::read(&file).unwrap();
    let again = job.prepare(&Silent, &Cancel::new()).unwrap().save(&file);
    assert!(matches!(again, Err(Error::PlanFile { .. })), "{again:?}");
    assert_eq!(std::fs::read(&file).unwrap(), before);

    let huge = place.out("huge.json");
    // Sparse: takes no space, and must not be read whole.
    std::fs::File::create(&huge).unwrap().set_len(1 << 40).unwrap();
    std::os::unix::fs::symlink(&file, place.out("link.json")).unwrap();
    for odd in ["huge.json", "link.json", "nowhere.json", "source"] {
        let read = SavedPlan::read(&place.out(odd));
        assert!(matches!(read, Err(Error::PlanFile { .. })), "{odd}: {read:?}");
    }
}

#[test]
fn a_saved_link_plan_links() {
    let place = Place::new();
    let job = Job { method: Method::Link, ..place.job(&place.out("out"), &by_range("year", &["0"])) };
    let file = place.out("plan.json");
    job.prepare(&Silent, &Cancel::new()).unwrap().save(&file).unwrap();
    let PlanReport::Shard(report) = run(&file).unwrap() else { panic!("expected a split of a shard") };
    assert_eq!(report.plan.method, Method::Link);
    assert_children(&content(&place.source()), &job.out, 2, &|number| usize::from(year(number) >= 0));
}
