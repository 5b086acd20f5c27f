//! **Disagreements**: questions that not all libraries answer alike, those with the same pattern of answers
//! together.

use crate::case::{self, Case};
use std::collections::BTreeMap;

/// Questions with one pattern of answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disagreement {
    /// The simplest question.
    pub case: String,
    /// How many further questions are answered in this way.
    pub more: usize,
    /// Who answers how: the most frequent answer first.
    pub answers: Vec<Answered>,
}

/// Libraries of one answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answered {
    pub answer: String,
    pub libraries: Vec<String>,
}

/// Clusters what libraries answered: a name, and for each question that the library could be asked the
/// case's text and the answer. The disagreements in which the simplest questions stand come first.
pub(super) fn disagreements(answers: &[(&str, &[(String, String)])]) -> Vec<Disagreement> {
    let mut by_question: BTreeMap<&str, BTreeMap<&str, Vec<&str>>> = BTreeMap::new();
    for (library, answered) in answers {
        for (question, answer) in *answered {
            by_question.entry(question).or_default().entry(answer).or_default().push(library);
        }
    }
    let mut clusters: BTreeMap<BTreeMap<&str, Vec<&str>>, Vec<&str>> = BTreeMap::new();
    for (question, pattern) in by_question {
        if pattern.len() > 1 {
            clusters.entry(pattern).or_default().push(question);
        }
    }
    let mut all: Vec<_> = (clusters.into_iter())
        .map(|(pattern, mut questions)| {
            questions.sort_by_key(|question| (weight(question), question.len(), *question));
            (weight(questions[0]), cluster(&pattern, &questions))
        })
        .collect();
    all.sort_by_key(|(weight, cluster)| (*weight, std::cmp::Reverse(cluster.more)));
    all.into_iter().map(|(_, cluster)| cluster).collect()
}

fn cluster(pattern: &BTreeMap<&str, Vec<&str>>, questions: &[&str]) -> Disagreement {
    let mut answers: Vec<_> = (pattern.iter())
        .map(|(answer, libraries)| Answered {
            answer: (*answer).to_owned(),
            libraries: libraries.iter().map(|library| (*library).to_owned()).collect(),
        })
        .collect();
    answers.sort_by_key(|answered| std::cmp::Reverse(answered.libraries.len()));
    Disagreement { case: questions[0].to_owned(), more: questions.len() - 1, answers }
}

/// Simple cases weigh little.
fn weight(question: &str) -> u64 {
    question.parse::<Case>().map_or(u64::MAX, |case| case::weight(&case))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_pattern_of_answers_is_one_disagreement_and_agreement_is_none() {
        let ask =
            |arguments: &str| format!("array(shape=(6,), dtype='float32').__dlpack__({arguments})");
        let library = |answers: [&str; 4]| {
            let questions = ["copy=True, dl_device=(2, 0)", "dl_device=(2, 0)", "", "stream=1"];
            let answers = questions.map(ask).into_iter().zip(answers.map(String::from));
            answers.filter(|(_, answer)| !answer.is_empty()).collect::<Vec<_>>()
        };
        let a = library(["BufferError", "BufferError", "dltensor", "TypeError"]);
        let b = library(["ValueError", "ValueError", "dltensor", ""]);
        let c = library(["BufferError", "BufferError", "dltensor", "dltensor"]);
        let found = disagreements(&[("a", &a), ("b", &b), ("c", &c)]);
        assert_eq!(found.len(), 2);
        let devices = found.iter().find(|it| it.case.contains("dl_device")).unwrap();
        assert_eq!((devices.case.as_str(), devices.more), (ask("dl_device=(2, 0)").as_str(), 1));
        assert_eq!(devices.answers[0].answer, "BufferError");
        assert_eq!(devices.answers[0].libraries, ["a", "c"]);
        assert_eq!(devices.answers[1].libraries, ["b"]);
        let streams = found.iter().find(|it| it.case.contains("stream")).unwrap();
        assert_eq!(streams.answers.len(), 2, "b was not asked");
    }
}
