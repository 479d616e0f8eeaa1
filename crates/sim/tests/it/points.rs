//! Published measurements.

use shardwise_sim::{Point, points};

fn table(points: &[Point]) -> String {
    let line = |p: &Point| {
        let role = if p.is_fit { "fit" } else { "held" };
        let Point { what, topology, measured_us, predicted_us, .. } = p;
        format!("{what:40} {topology:10} {measured_us:10.2} {predicted_us:10.2} {:6.1}% {role}\n", 100.0 * p.error())
    };
    points.iter().map(line).collect()
}

#[test]
fn the_points_that_were_held_back_are_predicted() {
    let points = points().unwrap();
    let fitted = points.iter().filter(|p| p.is_fit).count();
    assert!(points.len() >= 30 && 3 * fitted <= points.len(), "{fitted} of {}", points.len());
    let mut errors: Vec<f64> = points.iter().filter(|p| !p.is_fit).map(|p| p.error().abs()).collect();
    errors.sort_by(f64::total_cmp);
    let within = errors.iter().filter(|&&e| e <= 0.15).count() as f64 / errors.len() as f64;
    let table = table(&points);
    if std::env::var("SHOW").is_ok() {
        eprintln!("{table} {:?} {within}", errors[errors.len() / 2]);
    }
    assert!(errors[errors.len() / 2] <= 0.05, "the median error is {}\n{table}", errors[errors.len() / 2]);
    assert!(within >= 0.9, "{within} are within 15 %\n{table}");
}
