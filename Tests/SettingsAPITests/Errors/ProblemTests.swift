import SettingsAPI
import SettingsModel
import Testing

struct ProblemTests {
    static let example =
        #"{"type":"about:blank","status":422,"title":"Value not allowed","code":"invalid_value","#
        + #""detail":"player.volume: must be at most 1 (got 1.5)","#
        + #""errors":[{"suite":"app","key":"player.volume","pointer":"","keyword":"maximum","#
        + #""detail":"must be at most 1 (got 1.5)","expected":1,"actual":1.5}]}"#

    static let setting =
        #"{"suite":"app","key":"k","value":1,"source":"stored","revision":17,"modified":"2026-11-20T10:00:00.123Z"}"#

    @Test(
        "A problem is equal after writing and reading",
        arguments: [
            BodyCase("a violation of the schema", example),
            problem(400, "Bad request", "bad_request", #""line":3,"column":14"#),
            problem(400, "Bad request", "bad_request", #""didYouMean":["value"],"pointer":"/do/0""#),
            problem(404, "No such key", "unknown_key", #""didYouMean":["a","b"]"#),
            problem(422, "No such key", "unknown_key", #""pointer":"/do/0/key""#),
            problem(405, "Method not allowed", "method_not_allowed", #""allow":["GET","HEAD"]"#),
            problem(
                409, "Stored values do not match the schema", "schema_conflict",
                #""conflicts":[{"key":"k","stored":null,"errors":[{"pointer":"","keyword":"type","detail":"no"}]}]"#),
            problem(409, "Stored value does not match the schema", "invalid_stored", #""stored":null"#),
            problem(410, "History no longer available", "history_gone", #""oldest":12"#),
            problem(412, "Precondition failed", "precondition_failed", #""current":\#(setting)"#),
            problem(412, "Precondition failed", "precondition_failed", #""current":{"suite":"app","revision":0}"#),
            problem(
                412, "Precondition failed", "precondition_failed",
                #""failed":[{"index":1,"current":{"suite":"app","revision":3}},{"index":2,"current":\#(setting)}]"#),
            problem(431, "Too large", "too_large", #""limit":16384"#),
            problem(503, "Storage failed", "storage_failed", #""outcome":"unknown""#),
            problem(503, "Overloaded", "overloaded", #""outcome":"not_done","retryAfterMs":250"#),
            problem(418, "A newer error", "brewing", #""limit":1"#),
        ])
    func roundTrip(body: BodyCase) throws {
        let json = try JSONValue(parsing: body.text)
        let status = try #require(json["status"]?.integer.map(Int.init))
        let problem = Problem(status: status, body: json)
        #expect(problem.jsonText() == body.text)
        #expect(Problem(status: status, body: try JSONValue(parsing: problem.jsonBytes())) == problem)
    }

    @Test("A status that the code does not allow is replaced with the default status of the code")
    func statuses() {
        #expect(Problem(.tooLarge, status: 431, "").status == 431)
        #expect(Problem(.tooLarge, "").status == 413)
        #expect(Problem(.tooLarge, status: 500, "").status == 413)
        #expect(Problem(.unknownKey, status: 422, "").status == 422)
    }

    @Test("A problem keeps an unknown code, and its status decides whether the problem is transient")
    func unknownCode() throws {
        let body = try JSONValue(parsing: #"{"status":429,"code":"too_many_suites","title":"T","detail":"D","x":{}}"#)
        let problem = Problem(status: 429, body: body)
        #expect(problem.code == nil)
        #expect(problem.codeName == "too_many_suites")
        #expect(problem.detail == "D")
        #expect(problem.isTransient && problem.isKnownNotDone)
    }

    @Test(
        "An error response of a proxy becomes a problem, whatever body it has",
        arguments: [
            (502, nil, "502: HTTP status 502"),
            (502, "null", "502: HTTP status 502"),
            (404, "[1]", "404: HTTP status 404"),
            (500, #"{"code":5,"title":[],"detail":{},"errors":3,"status":"x"}"#, "500: HTTP status 500"),
            (404, #"{"code":"not_set"}"#, "404 not_set: Not set"),
            (500, #"{"status":404,"code":"not_set","detail":"d"}"#, "500 not_set: d"),
        ] as [(Int, String?, String)])
    func proxyResponse(status: Int, body: String?, description: String) throws {
        let json = try body.map { try JSONValue(parsing: $0) }
        #expect(Problem(status: status, body: json).description == description)
    }

    @Test("Reading a problem ignores invalid members and elements, and treats an invalid outcome as unknown")
    func invalidMembers() throws {
        let body = try JSONValue(
            parsing: #"{"errors":[1,{"keyword":"k","detail":"d"}],"outcome":"perhaps","oldest":-1,"pointer":"x"}"#)
        let problem = Problem(status: 503, body: body)
        #expect(problem.errors.map(\.keyword) == ["k"])
        #expect(problem.outcome == .unknown)
        #expect(problem.oldest == nil)
        #expect(problem.pointer == nil)
    }

    @Test("A write is known as not done only if the answer has the outcome notDone or refuses the write")
    func outcome() {
        var problem = Problem(.storageFailed, "")
        #expect(!problem.isKnownNotDone)
        problem.outcome = .unknown
        #expect(!problem.isKnownNotDone)
        problem.outcome = .notDone
        #expect(problem.isKnownNotDone)
        #expect(Problem(.invalidValue, "").isKnownNotDone)
        #expect(Problem(.insufficientStorage, "").isKnownNotDone)
        #expect(!Problem(status: 502, body: nil).isKnownNotDone)
        #expect(!Problem(.invalidValue, "").isTransient)
        #expect(Problem(.overloaded, "").isTransient)
    }

    @Test("Retry-After is in whole seconds, rounded up")
    func retryAfter() {
        var problem = Problem(.overloaded, "")
        #expect(problem.retryAfterSeconds == nil)
        for (milliseconds, seconds) in [
            (0, 0), (1, 1), (1000, 1), (1001, 2), (-5, 0), (Int64.max, Int64.max / 1000 + 1),
        ] {
            problem.retryAfterMs = milliseconds
            #expect(problem.retryAfterSeconds == seconds)
        }
    }

    @Test("An error of a JSON text, of a body, of an operation or of a name converts to a problem")
    func conversions() throws {
        let parseError = #expect(throws: JSONParseError.self) { try JSONValue(parsing: "{\n\"a\" 1}") }
        let parseProblem = Problem(try #require(parseError))
        #expect(parseProblem.code == .badRequest)
        #expect(parseProblem.line == 2 && parseProblem.column == 5)

        let invalidBody = try #require(try bodyError(#"{"op":"ad","by":1}"#, as: InPlaceOperation.self))
        let bodyProblem = Problem(invalidBody)
        #expect(bodyProblem.code == .badRequest && bodyProblem.detail == invalidBody.description)
        #expect(bodyProblem.pointer == JSONPointer("/op"))
        #expect(bodyProblem.didYouMean == ["add"])

        let operationError = #expect(throws: OperationError.self) { try InPlaceOperation.toggle.applied(to: 1) }
        let operationProblem = Problem(try #require(operationError))
        #expect(
            operationProblem.description == "422 invalid_operation: toggle needs a boolean, but the value is an integer"
        )

        let nameError = #expect(throws: NameError.self) { try KeyName("") }
        #expect(Problem(try #require(nameError)).detail == "a key must not be empty")
    }

    @Test("The detail of a problem has the first violation and the number of further violations")
    func violations() {
        let volume = Violation(key: "player.volume", keyword: "maximum", detail: "must be at most 1 (got 1.5)")
        #expect(Problem(violations: [volume]).detail == "player.volume: must be at most 1 (got 1.5)")
        let three = Problem(violations: [volume, volume, volume])
        #expect(three.detail == "player.volume: must be at most 1 (got 1.5); 2 more violations")
        #expect(three.errors.count == 3)
        #expect(Problem(violations: []).code == .invalidValue)
    }

    @Test("The problem of an operation on a secret does not contain the value of the secret")
    func secret() throws {
        // The text `hunter2` is the secret, and `guess` is the value that a client supposes.
        let patch = JSONPatch([.test(try #require(JSONPointer("/password")), "guess")])
        let error = #expect(throws: OperationError.self) { try patch.applied(to: ["password": "hunter2"]) }
        let problem = Problem(try #require(error), ofSecret: true)
        #expect(problem.code == .preconditionFailed)
        #expect(problem.jsonText().contains("hunter2") == false)
        #expect(problem.pointer == nil)
        #expect(problem.detail == "step 1 of the patch, test: found another value")
    }

    /// A problem with the members that all problems have, and with other members in JSON.
    static func problem(_ status: Int, _ title: String, _ code: String, _ otherMembers: String) -> BodyCase {
        BodyCase(
            "\(status) \(code)",
            #"{"type":"about:blank","status":\#(status),"title":"\#(title)","code":"\#(code)","detail":"d",\#(otherMembers)}"#
        )
    }
}
