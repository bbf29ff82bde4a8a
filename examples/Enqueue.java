// Enqueues in Java, in a transaction of yours, with the JDBC driver of PostgreSQL:
//
//     java -cp postgresql.jar Enqueue.java 'jdbc:postgresql://localhost/shop'

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.Statement;
import java.time.OffsetDateTime;

public class Enqueue {
    public static void main(String[] args) throws Exception {
        try (Connection connection = DriverManager.getConnection(args[0])) {
            connection.setAutoCommit(false);
            try (Statement statement = connection.createStatement()) {
                statement.execute("select pgbaton.create_queue('mail')");
                statement.execute("create table if not exists orders (name text primary key)");
            }
            one(connection);
            connection.commit();
            many(connection);
            connection.commit();
        }
    }

    /** One job: there when the transaction commits, never when it does not. */
    static void one(Connection connection) throws Exception {
        try (PreparedStatement insert = connection.prepareStatement("insert into orders values (?)");
                PreparedStatement enqueue = connection.prepareStatement(
                    "select pgbaton.enqueue_job(?, ?::jsonb, singleton_key => ?, tags => ?,"
                    + " delay => ?::interval, backoff_schedule => ?)")) {
            insert.setString(1, "order 17");
            insert.execute();
            enqueue.setString(1, "mail");
            enqueue.setString(2, "{\"to\": \"ann\", \"lines\": [\"bread\", \"wine\"]}");
            enqueue.setString(3, "order 17");
            enqueue.setArray(4, connection.createArrayOf("text", new String[] {"letter", "urgent"}));
            enqueue.setString(5, "1.5 seconds");
            enqueue.setArray(6, connection.createArrayOf("interval", new String[] {"1 minute", "1 hour"}));
            try (ResultSet rows = enqueue.executeQuery()) {
                rows.next();
                System.out.println("job " + rows.getLong(1));
            }
        }
    }

    /** Many: jsonb[], each payload as JSON text. */
    static void many(Connection connection) throws Exception {
        String[] payloads = {"{\"to\": \"bob\"}", "[\"a\", \"list\"]", "\"a text with \\\"quotes\\\"\"", "null"};
        try (PreparedStatement enqueue = connection.prepareStatement(
                "select count(*) from pgbaton.enqueue_batch(?, ?, run_at => ?)")) {
            enqueue.setString(1, "mail");
            enqueue.setArray(2, connection.createArrayOf("jsonb", payloads));
            enqueue.setObject(3, OffsetDateTime.parse("2030-01-01T12:00:00Z"));
            try (ResultSet rows = enqueue.executeQuery()) {
                rows.next();
                System.out.println(rows.getLong(1) + " more");
            }
        }
    }
}
