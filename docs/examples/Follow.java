// Prints the state of the suite app, then each of its changes. Run it with: java Follow.java
// The id of an event is the cursor. The program keeps it in the file "cursor", and continues from it after a restart.
// With access control, SETTINGS_TOKEN_FILE names a file with the token.
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.*;
import java.util.Set;

public class Follow {
    static final Path CURSOR = Path.of("cursor");

    public static void main(String[] arguments) throws Exception {
        var http = HttpClient.newHttpClient();
        while (true) {
            var request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:7070/v1/suites/app/observe"));
            request.header("Accept", "text/event-stream");
            var tokenFile = System.getenv("SETTINGS_TOKEN_FILE");
            if (tokenFile != null) request.header("Authorization", "Bearer " + Files.readString(Path.of(tokenFile)).strip());
            if (Files.exists(CURSOR)) request.header("Last-Event-ID", Files.readString(CURSOR));
            try {
                var answer = http.send(request.build(), BodyHandlers.ofLines());
                if (answer.statusCode() == 200) read((Iterable<String>) answer.body()::iterator);
                else System.err.println("status " + answer.statusCode());
                // With these statuses, a repeated request would fail again.
                if (Set.of(400, 401, 403).contains(answer.statusCode())) System.exit(1);
            } catch (IOException | UncheckedIOException error) {
                System.err.println(error);
            }
            Thread.sleep(1000);
        }
    }

    static void read(Iterable<String> lines) throws IOException {
        String event = "", data = "", id = "";
        for (String line : lines) {
            if (line.startsWith("event: ")) event = line.substring(7);
            else if (line.startsWith("data: ")) data = line.substring(6);
            else if (line.startsWith("id: ")) id = line.substring(4);
            else if (line.isEmpty()) {
                // The event is "state", "reset", "commit", or "missing" (no such suite). The data is one line of JSON.
                // The daemon also sends an id without an event and data: the newest cursor.
                if (!data.isEmpty()) System.out.println(event + " " + data);
                var file = Files.writeString(Path.of("cursor.new"), id);
                Files.move(file, CURSOR, StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.ATOMIC_MOVE);
                event = data = "";
            }
        }
    }
}
