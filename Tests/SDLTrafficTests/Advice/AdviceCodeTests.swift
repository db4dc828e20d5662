import SDLAdvice
import Testing

@Suite struct AdviceCodeTests {
    @Test("every code has a whole page", arguments: AdviceCode.allCases)
    func page(code: AdviceCode) {
        let page = code.page
        for text in [page.title, page.cause, page.remedy, page.details, page.firstRemedy] {
            #expect(!text.isEmpty && !text.contains("\n") && !text.contains("  "))
        }
        #expect(page.title.count <= 60 && !page.title.hasSuffix("."))
        #expect(page.cause.hasSuffix(".") && page.details.hasSuffix("."))
        #expect(page.remedy.hasSuffix(".") && !page.firstRemedy.hasSuffix("."))
    }

    @Test("codes are short snake_case words, and no two pages are one")
    func codes() {
        for code in AdviceCode.allCases {
            #expect(code.rawValue.allSatisfy { $0.isLowercase || $0 == "_" })
            #expect(code.rawValue.count <= 24)
        }
        #expect(Set(AdviceCode.allCases.map(\.page.title)).count == AdviceCode.allCases.count)
    }

    @Test("a code is understood in capitals, and with the hyphens it had before 1.0")
    func typed() {
        #expect(AdviceCode(typed: "mtu_near") == .mtuNear)
        #expect(AdviceCode(typed: "mtu-near") == .mtuNear)
        #expect(AdviceCode(typed: "Request-In_NONE") == .requestInNone)
        #expect(AdviceCode(typed: "mtunear") == nil)
    }
}
