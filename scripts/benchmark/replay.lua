-- usage: wrk … -s replay.lua URL [-- FILE]
--
-- Sends the requests in FILE repeatedly. The file is prepared before the run, so that wrk does not build requests while it
-- measures. FILE contains, for each request, its length in decimal, a line end and its bytes. Without FILE, wrk repeats a
-- GET of the URL. At the end, the script prints the figures as one line of JSON, because wrk rounds its own figures.

local requests, count, position = {}, 0, 0

function init(arguments)
    if not arguments[1] then return end
    local file = assert(io.open(arguments[1], "rb"))
    local text = file:read("*a")
    file:close()
    local offset = 1
    while offset <= #text do
        local lineEnd = text:find("\n", offset, true)
        local length = tonumber(text:sub(offset, lineEnd - 1))
        count = count + 1
        requests[count] = text:sub(lineEnd + 1, lineEnd + length)
        offset = lineEnd + length + 1
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
