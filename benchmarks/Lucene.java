import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.lucene.analysis.Analyzer;
import org.apache.lucene.analysis.TokenStream;
import org.apache.lucene.analysis.en.EnglishAnalyzer;
import org.apache.lucene.analysis.tokenattributes.CharTermAttribute;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.TextField;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.index.SerialMergeScheduler;
import org.apache.lucene.index.Term;
import org.apache.lucene.search.BooleanClause;
import org.apache.lucene.search.BooleanQuery;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.ScoreDoc;
import org.apache.lucene.search.TermQuery;
import org.apache.lucene.search.similarities.BM25Similarity;
import org.apache.lucene.store.FSDirectory;

/** Answers lucene.py: a request per line, a JSON array of a verb and its operands; a line of JSON for each. */
public class Lucene {
    static final Analyzer ANALYZER = new EnglishAnalyzer();
    static IndexSearcher searcher;

    public static void main(String[] arguments) throws Exception {
        ObjectMapper json = new ObjectMapper();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        for (String line; (line = in.readLine()) != null; ) {
            JsonNode request = json.readTree(line);
            Object reply = switch (request.get(0).asText()) {
                case "terms" -> terms(request.get(1));
                case "index" -> index(request);
                default -> search(request.get(1), request.get(2).asInt());
            };
            out.println(json.writeValueAsString(reply));
        }
    }

    static List<String> analyzed(String text) throws Exception {
        List<String> found = new ArrayList<>();
        try (TokenStream stream = ANALYZER.tokenStream("text", text)) {
            CharTermAttribute term = stream.addAttribute(CharTermAttribute.class);
            stream.reset();
            while (stream.incrementToken()) found.add(term.toString());
            stream.end();
        }
        return found;
    }

    static long cpuTime() {
        return ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
    }

    /** The terms of each text. */
    static List<List<String>> terms(JsonNode texts) throws Exception {
        List<List<String>> found = new ArrayList<>();
        for (JsonNode text : texts) found.add(analyzed(text.asText()));
        return found;
    }

    /** Indexes texts in their order; the seconds of CPU time that it took, without reading the request. */
    static double index(JsonNode request) throws Exception {
        List<String> texts = new ArrayList<>();
        for (JsonNode text : request.get(2)) texts.add(text.asText());
        BM25Similarity bm25 = new BM25Similarity((float) request.get(3).asDouble(), (float) request.get(4).asDouble());
        long started = cpuTime();
        FSDirectory directory = FSDirectory.open(Path.of(request.get(1).asText()));
        IndexWriterConfig config = new IndexWriterConfig(ANALYZER).setSimilarity(bm25);
        config.setMergeScheduler(new SerialMergeScheduler());
        try (IndexWriter writer = new IndexWriter(directory, config.setOpenMode(IndexWriterConfig.OpenMode.CREATE))) {
            for (String text : texts) {
                Document document = new Document();
                document.add(new TextField("text", text, Field.Store.NO));
                writer.addDocument(document);
            }
            writer.forceMerge(1); // numbers are those of the order
        }
        double seconds = (cpuTime() - started) / 1e9;
        searcher = new IndexSearcher(DirectoryReader.open(directory));
        searcher.setSimilarity(bm25);
        searcher.setQueryCache(null);
        return seconds;
    }

    /** The best of each query, a disjunction of its terms, as [number, score]; and the seconds of CPU time that it took. */
    static Map<String, Object> search(JsonNode queries, int k) throws Exception {
        List<List<Object>> hits = new ArrayList<>();
        List<String> texts = new ArrayList<>();
        for (JsonNode query : queries) texts.add(query.asText());
        long started = cpuTime();
        for (String text : texts) {
            BooleanQuery.Builder query = new BooleanQuery.Builder();
            for (String term : analyzed(text)) {
                query.add(new TermQuery(new Term("text", term)), BooleanClause.Occur.SHOULD);
            }
            List<Object> found = new ArrayList<>();
            for (ScoreDoc hit : searcher.search(query.build(), k).scoreDocs) found.add(List.of(hit.doc, hit.score));
            hits.add(found);
        }
        return Map.of("seconds", (cpuTime() - started) / 1e9, "hits", hits);
    }
}
