// How much of the link each app of a class has been given; used by `LinkScheduler`.

/// Bytes served per app, as a virtual time: the app with the smallest number goes next.
///
/// An app that comes back starts at the present, not at its former number: time away earns no
/// credit. Bytes that it was given beyond the present stay as a debt; otherwise an app that sends
/// one large frame at a time would always be new.
struct FairShare<App: Hashable> {
    private struct Account {
        var app: App?
        var served: UInt64
        /// Lanes that wait under this account.
        var lanes: Int32
    }

    /// Accounts without a waiting lane are cleaned up when there are this many: twice the apps a
    /// link may have.
    private static var cleanUpCount: Int { 600 }

    private var accounts: ContiguousArray<Account> = []
    private var free: [Int32] = []
    private var numbers: [App?: Int32] = [:]
    private var cleanUpAt = FairShare.cleanUpCount
    /// What the account served last in turn had been given before that.
    private var present: UInt64 = 0

    subscript(number: Int32) -> UInt64 { accounts[Int(number)].served }

    /// Notes that a lane of this app begins to wait, and returns the app's account.
    mutating func enter(_ app: App?) -> Int32 {
        if let number = numbers[app] {
            accounts[Int(number)].lanes += 1
            accounts[Int(number)].served = max(accounts[Int(number)].served, present)
            return number
        }
        if numbers.count >= cleanUpAt { forgetIdle() }
        let account = Account(app: app, served: present, lanes: 1)
        let number: Int32
        if let reused = free.popLast() {
            number = reused
            accounts[Int(number)] = account
        } else {
            number = Int32(accounts.count)
            accounts.append(account)
        }
        numbers[app] = number
        return number
    }

    /// Notes that a lane of this account no longer waits.
    mutating func leave(_ number: Int32) {
        accounts[Int(number)].lanes -= 1
    }

    /// - Parameter isInTurn: Whether the account had the smallest number. Serving out of turn does
    ///   not move the present, which would be unfair to apps that come now.
    mutating func serve(_ bytes: Int, to number: Int32, isInTurn: Bool) {
        if isInTurn { present = max(present, accounts[Int(number)].served) }
        accounts[Int(number)].served += UInt64(bytes)
    }

    /// Forgets all accounts: no lane waits, so no app is ahead or behind.
    mutating func removeAll() {
        accounts.removeAll(keepingCapacity: true)
        free.removeAll(keepingCapacity: true)
        numbers.removeAll(keepingCapacity: true)
        cleanUpAt = Self.cleanUpCount
        present = 0
    }

    private mutating func forgetIdle() {
        for index in accounts.indices where accounts[index].lanes == 0 {
            guard let number = numbers[accounts[index].app], number == Int32(index),
                accounts[index].served <= present
            else { continue }
            numbers[accounts[index].app] = nil
            accounts[index].app = nil
            free.append(number)
        }
        cleanUpAt = max(Self.cleanUpCount, numbers.count * 2)
    }
}
