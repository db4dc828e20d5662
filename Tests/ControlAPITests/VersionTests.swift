import Testing

@testable import ControlAPI

@Suite("The version says which build it is")
struct VersionTests {
    @Test("a build that was told its commit has it behind the release, another has the release")
    func build() {
        #expect(Version.with(build: "81a52d7b0") == "\(Version.release)+81a52d7b0")
        #expect(Version.with(build: "81a52d7b0-dirty") == "\(Version.release)+81a52d7b0-dirty")
        #expect(Version.with(build: "") == Version.release)
    }

    @Test("it may stand in an HTTP header, and is a version as semver.org has it")
    func form() throws {
        for version in [Version.current, Version.with(build: "81a52d7b0-dirty")] {
            #expect(version.wholeMatch(of: /[0-9]+(\.[0-9]+){2}(\+[0-9A-Za-z.-]+)?/) != nil)
        }
    }
}
