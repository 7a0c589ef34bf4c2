/// A library, or a second way of one to serve a stream, that has programs which serve and nothing else to measure.
struct ServerSubject: Subject {
  let name: String
  let summary: String
}
