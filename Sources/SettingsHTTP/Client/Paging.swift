/// From page to page.
enum Paging {
    /// Where the next page begins; nil if there is none. Names are listed in their order, so what leads back would never
    /// end.
    static func step<Name: Comparable>(from place: Name?, to next: Name?) throws(SettingsError) -> Name? {
        guard let place, let next else { return next }
        guard next > place else {
            throw .malformedAnswer("the page after \(place) leads to \(next)", outcome: .notDone)
        }
        return next
    }
}
