import java.util.HashMap;
import java.util.Map;
import org.apache.iceberg.CatalogUtil;
import org.apache.iceberg.jdbc.JdbcCatalog;
import org.apache.iceberg.rest.RESTCatalogAdapter;
import org.apache.iceberg.rest.RESTCatalogServlet;
import org.eclipse.jetty.ee10.servlet.ServletContextHandler;
import org.eclipse.jetty.ee10.servlet.ServletHolder;
import org.eclipse.jetty.server.Server;

/** Serves Iceberg's REST catalog of a file of SQLite: java Catalog.java PORT CATALOG.db WAREHOUSE [S3-URL]. */
class Catalog {
  public static void main(String[] args) throws Exception {
    var properties = new HashMap<>(Map.of("catalog-impl", JdbcCatalog.class.getName(), "uri", "jdbc:sqlite:" + args[1] + "?busy_timeout=10000",
        "jdbc.schema-version", "V1", "warehouse", args[2]));
    if (args.length > 3)
      properties.putAll(Map.of("io-impl", "org.apache.iceberg.aws.s3.S3FileIO", "s3.endpoint", args[3], "s3.path-style-access", "true"));
    var catalog = CatalogUtil.buildIcebergCatalog("granary", properties, new org.apache.hadoop.conf.Configuration());
    var handler = new ServletContextHandler();
    handler.addServlet(new ServletHolder(new RESTCatalogServlet(new RESTCatalogAdapter(catalog))), "/*");
    var server = new Server(Integer.parseInt(args[0]));
    server.setHandler(handler);
    server.start();
    System.out.println("listening");
    server.join();
  }
}
