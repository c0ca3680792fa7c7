#!/bin/sh
# Prints the state of the suite app, then each of its changes. Change the address and the suite in the variable url, then run
# it with: sh follow.sh
# With access control, SETTINGS_TOKEN_FILE names a file with the token. End the script with Ctrl-C, or with a signal to its
# process group: a signal to the script alone does not end curl.
# Each event has one line of JSON, and its id is the cursor. The script keeps the cursor in the file "cursor", and continues
# from this cursor after a restart. --speed-time ends a connection on which nothing has arrived for a minute. A working
# connection is not silent for so long, because the daemon sends the newest cursor after 15 seconds without an event.
url=http://127.0.0.1:7070/v1/suites/app/observe

process() { # EVENT JSON: EVENT is "state", "reset", "commit", or "missing", which means that the suite does not exist
    printf '%s %s\n' "$1" "$2"
}

authorization() { # Prints the header with the token. curl reads the header from a pipe, because arguments are visible to other users.
    if [ -n "$SETTINGS_TOKEN_FILE" ]; then printf 'Authorization: Bearer %s\n' "$(cat "$SETTINGS_TOKEN_FILE")"; fi
}

while true; do
    last=$(cat cursor 2>/dev/null)
    authorization | curl -fsSN -w 'status: %{http_code}\n' --speed-limit 1 --speed-time 60 \
        -H 'Accept: text/event-stream' -H @- ${last:+-H "Last-Event-ID: $last"} "$url" |
        while read -r field value; do
            case $field in
                event:) event=$value ;;
                id:) id=$value ;;
                data:) data=$value ;;
                '') # An empty line ends the event.
                    if [ -n "$data" ]; then process "$event" "$data"; fi
                    if [ -n "$id" ]; then echo "$id" >cursor.new && mv cursor.new cursor; fi
                    event='' data='' ;;
                status:) # curl prints this line at the end. With these statuses, a repeated request would fail again.
                    case $value in 400 | 401 | 403) exit 1 ;; esac ;;
            esac
        done || exit 1
    sleep 1
done
