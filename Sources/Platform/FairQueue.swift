/// A queue that returns one element of each client in turn (round-robin). The elements of one client keep their order.
/// `Client` is any value by which the queue groups elements, for example the ``ClientKey`` of an upload.
package struct FairQueue<Client: Hashable, Element> {
    /// Identifies an element of the queue for ``remove(at:of:)``.
    package struct Position: Sendable {
        fileprivate let number: Int
    }

    private var queues: [Client: ClientQueue<Element>] = [:]
    /// The clients that have elements, in the order in which the queue serves them.
    private var clients = Deque<Client>()
    private var lastNumber = 0
    package private(set) var count = 0

    package init() {}

    package var isEmpty: Bool { count == 0 }

    /// Returns the number of elements of a client.
    package func count(of client: Client) -> Int { queues[client]?.count ?? 0 }

    @discardableResult
    package mutating func append(_ element: Element, for client: Client) -> Position {
        lastNumber += 1
        if queues[client] == nil { clients.append(client) }
        queues[client, default: ClientQueue()].append(element, number: lastNumber)
        count += 1
        return Position(number: lastNumber)
    }

    /// Removes and returns the first element of the client that is served next. Returns nil if the queue is empty.
    package mutating func popFirst() -> Element? {
        guard let client = clients.first else { return nil }
        return popFirst(of: client)
    }

    /// Returns the next client in turn whose first element is eligible, with this element.
    package func first(
        where isEligible: (_ client: Client, _ element: Element) -> Bool
    ) -> (client: Client, element: Element)? {
        for client in clients {
            if let element = queues[client]?.entries.first?.element, isEligible(client, element) {
                return (client, element)
            }
        }
        return nil
    }

    /// Removes and returns the first element of a client. The queue then serves all other clients before this client.
    package mutating func popFirst(of client: Client) -> Element? {
        guard let element = queues[client]?.popFirst() else { return nil }
        count -= 1
        removeFromOrder(client)
        if count(of: client) > 0 { clients.append(client) } else { queues[client] = nil }
        return element
    }

    /// Removes the element of a client at a position, if the element is still in the queue.
    ///
    /// Takes amortized logarithmic time in the number of elements of the client. If the client then has no elements,
    /// also takes linear time in the number of clients.
    package mutating func remove(at position: Position, of client: Client) {
        guard queues[client]?.remove(position.number) ?? false else { return }
        count -= 1
        guard count(of: client) == 0 else { return }
        queues[client] = nil
        removeFromOrder(client)
    }

    /// Removes a client from the order in which the queue serves clients.
    private mutating func removeFromOrder(_ client: Client) {
        if clients.first == client {
            _ = clients.popFirst()
        } else {
            clients.removeAll { $0 == client }
        }
    }
}

extension FairQueue: Sendable where Client: Sendable, Element: Sendable {}

/// The elements of one client. If there are entries, the first entry has an element.
private struct ClientQueue<Element> {
    struct Entry {
        let number: Int
        /// Nil after the element was removed.
        var element: Element?
    }

    private(set) var entries = Deque<Entry>()
    /// The number of entries with an element.
    private(set) var count = 0

    mutating func append(_ element: Element, number: Int) {
        entries.append(Entry(number: number, element: element))
        count += 1
    }

    mutating func popFirst() -> Element? {
        guard let element = entries.popFirst()?.element else { return nil }
        count -= 1
        removeEmptyEntries()
        return element
    }

    /// Removes the element with a number. Returns false if the queue does not contain it.
    mutating func remove(_ number: Int) -> Bool {
        guard let index = index(of: number),
            entries.update(index, { entry in entry.element.take() != nil })
        else { return false }
        count -= 1
        removeEmptyEntries()
        return true
    }

    /// Finds an entry by binary search: the numbers of the entries ascend.
    private func index(of number: Int) -> Int? {
        var (low, high) = (0, entries.count)
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].number < number { low = middle + 1 } else { high = middle }
        }
        return low < entries.count && entries[low].number == number ? low : nil
    }

    /// Removes the entries without an element at the front. If more than half of all entries have no element, removes
    /// all entries without an element, so that these entries never take most of the memory.
    private mutating func removeEmptyEntries() {
        while let first = entries.first, first.element == nil { _ = entries.popFirst() }
        if entries.count > 2 * count { entries.removeAll { $0.element == nil } }
    }
}

extension ClientQueue.Entry: Sendable where Element: Sendable {}
extension ClientQueue: Sendable where Element: Sendable {}
