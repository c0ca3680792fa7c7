-- Replays the requests of a file, prepared beforehand so that nothing is built while the clock runs:
--     wrk … -s replay.lua URL [FILE]
-- FILE holds each request as its length in decimal, a line end and its bytes. Without it wrk repeats the URL.
-- Ends with one line of JSON, because the figures that wrk prints for people are rounded.

local requests, count, position = {}, 0, 0

function init(arguments)
    if not arguments[1] then return end
    local file = assert(io.open(arguments[1], "rb"))
    local text = file:read("*a")
    file:close()
    local at = 1
    while at <= #text do
        local lineEnd = text:find("\n", at, true)
        local length = tonumber(text:sub(at, lineEnd - 1))
        count = count + 1
        requests[count] = text:sub(lineEnd + 1, lineEnd + length)
        at = lineEnd + length + 1
    end
    request = function()
        position = position % count + 1
        return requests[position]
    end
end

function done(summary, latency)
    local errors = summary.errors
    io.write(string.format(
        'result {"requests":%d,"microseconds":%d,"bytes":%d,"p50":%.1f,"p99":%.1f,"slowest":%.1f,' ..
            '"refused":%d,"broken":%d}\n',
        summary.requests, summary.duration, summary.bytes,
        latency:percentile(50), latency:percentile(99), latency.max,
        errors.status, errors.connect + errors.read + errors.write + errors.timeout))
end
