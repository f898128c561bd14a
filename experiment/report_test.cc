// SPDX-License-Identifier: Apache-2.0
// The report: its content, that text from outside stays text, and that it needs no other file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/files.h"
#include "base/testing.h"
#include "experiment/figure.h"
#include "experiment/page.h"
#include "experiment/reports.h"
#include "heft/train.h"

namespace heft::experiment {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(EscapeHtml, LeavesNothingThatMarkupIsMadeOf) {
  EXPECT_EQ(EscapeHtml("a<b>&\"c\"'d'"), "a&lt;b&gt;&amp;&quot;c&quot;&#39;d&#39;");
  EXPECT_EQ(EscapeHtml("plain, 0.97 √s"), "plain, 0.97 √s");
}

TEST(GnuplotQuote, EndsNeitherStringNorLine) {
  EXPECT_EQ(GnuplotQuote("it's"), "'it''s'");
  EXPECT_EQ(GnuplotQuote("a\nb"), "'ab'");
}

TEST(Gnuplot, RunsNothingFromATitle) {
  const heft::testing::TemporaryFolder folder;
  const std::filesystem::path mark = folder / "ran-a-title";
  const std::string hostile =
      "`touch " + mark.string() + "`' ; system('touch " + mark.string() + "') #";
  GnuplotJob job;
  job.inputs = {{"a.dat", "0 0\n1 1\n"}};
  job.outputs = {"a.svg"};
  job.script = "set terminal svg noenhanced\nset output 'a.svg'\nplot 'a.dat' with lines title " +
               GnuplotQuote(hostile) + "\nunset output\n";
  const auto drawn = RunGnuplot(job);
  ASSERT_TRUE(drawn.ok()) << drawn.status();
  EXPECT_THAT((*drawn)[0], HasSubstr("touch"));
  EXPECT_FALSE(std::filesystem::exists(mark));
}

TEST(Gnuplot, SaysWhatWentWrong) {
  GnuplotJob job;
  job.script = "plot 'not there'\n";
  const auto drawn = RunGnuplot(job);
  EXPECT_EQ(drawn.status().code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(drawn.status().message()), HasSubstr("not there"));
}

TEST(InlineSvg, RefusesOtherText) {
  EXPECT_EQ(InlineSvg("", "x").status().code(), absl::StatusCode::kInternal);
  EXPECT_EQ(InlineSvg("<svg></svg>", "x").status().code(), absl::StatusCode::kInternal);
}

Estimate Around(double value) { return {value, value - 0.01, value + 0.01}; }

SystemResult System(const std::string& id, const std::string& label, double auroc) {
  SystemResult system;
  system.system = {id, label, 32, id == "fhe_aware_encrypted"};
  system.estimate.auroc = Around(auroc);
  system.estimate.eer = Around(1 - auroc);
  if (!system.system.encrypted) system.encrypted_minus_this = Around(-0.02);
  system.roc = {{1, 0, 0}, {0.5, 0.01, 0.8}, {-1, 1, 1}};
  return system;
}

// A small evaluation with a hostile folder name.
Evaluation Example() {
  Evaluation e;
  e.data_name = "<script>alert('x')</script>";
  e.data_description = "Synthetic & made up";
  e.samples = 4;
  e.identities = 2;
  e.genuine_pairs = 2;
  e.impostor_pairs = 1234567;
  e.model.modalities = {{"face", 8}, {"voice", 8}};
  e.model.gamma = 32;
  e.model.projection.assign(32 * 16, 0.1);
  e.model.approximation = *FitMinimax(3, Interval{0.5, 2.0});
  e.systems = {System("face", "Face alone", 0.91), System("voice", "Voice <b>alone</b>", 0.81),
               System("fhe_aware_plain", "FHE-aware, plain", 0.9512),
               System("fhe_aware_encrypted", "FHE-aware, encrypted", 0.9511)};
  e.gap = {-1.2e-5, 7.1e-4, 1.5e-4};
  RateCheck check = CheckRate(1e-3, {0.0006, 0.0004, 0.0012}, {0.0005, 0.002});
  check.threshold = 0.613;
  check.missed = Around(0.558);
  RateCheck refused;
  refused.asked = 1e-6;
  refused.refused = "its <3> comparisons reach from 0.1 to 0.001";
  e.judgement.comparisons = {check, refused};
  e.judgement.searches = {{1, 22, check}};
  e.judgement.curves = {{1, {{0.3, 0.5}, {0.2, 0.01}, {0.1, 0.3}, {0.9, 1.0}, 10, 10}}};
  e.squared_norms = {0.4, 0.9, 1.1, 1.3};
  e.outside = 1;
  e.plain = {{0.8, 0.9}, {-0.1, 0.1}};
  e.encrypted = {{0.8001, 0.8999}, {-0.1002, 0.1001}};
  e.judgement.scores = e.encrypted;
  e.judgement.plain = e.plain;
  e.model.training_summary = R"({"gamma_choice":{"gamma":32,"trials":[
      {"gamma":16,"fnmr":{"value":0.09,"lo":0.08,"hi":0.1},"minus_best":{"value":0.03,"lo":0.02,"hi":0.04}},
      {"gamma":32,"fnmr":{"value":0.06,"lo":0.05,"hi":0.07},"minus_best":{"value":0,"lo":0,"hi":0}}]}})";
  e.run.predicted_error = 4.9e-3;
  e.run.parameters = "N = 8192";
  e.run.security = "128-bit classical (2024)";
  e.warnings = {"1 of 4 samples lie outside"};
  return e;
}

TEST(Report, HoldsTheNumbersAndStandsAlone) {
  const Evaluation e = Example();
  const auto plots = DrawPlots(e);
  ASSERT_TRUE(plots.ok()) << plots.status();
  const std::string html = MakeReport(e, *plots, "heft evaluate --model 'my model.heft'");
  for (const char* expected :
       {"0.9511", "0.9411 to 0.9611", "−0.000012", "0.00071", "1,234,567",
        "Synthetic &amp; made up", "128-bit classical (2024)", "0.613", "0.558", "0.548 to 0.568",
        "reach from 0.1 to 0.001", "&lt;3&gt;", "1 of 4 samples lie outside",
        "--model &#39;my model.heft&#39;", "prefers-color-scheme: dark"}) {
    EXPECT_THAT(html, HasSubstr(expected));
  }
  EXPECT_THAT(html, Not(HasSubstr("<script")));
  EXPECT_THAT(html, Not(HasSubstr("<b>alone")));
  // Nothing is loaded: no addresses at all.
  for (const char* refused : {"http:", "https:", "url(", "src=", "@import", "href="}) {
    EXPECT_THAT(html, Not(HasSubstr(refused)));
  }
}

TEST(Report, PicturesTakeTheirColoursFromThePage) {
  const auto plots = DrawPlots(Example());
  ASSERT_TRUE(plots.ok()) << plots.status();
  for (const std::string* svg : {&plots->roc, &plots->approximation, &plots->relative_error,
                                 &plots->score_error, &plots->gamma}) {
    EXPECT_THAT(*svg, ::testing::StartsWith("<svg viewBox="));
    EXPECT_THAT(*svg, HasSubstr("var(--ink)"));
    EXPECT_THAT(*svg, Not(HasSubstr("rgb(")));
    EXPECT_THAT(*svg, Not(HasSubstr(" id=")));
  }
  EXPECT_THAT(plots->roc, HasSubstr("var(--encrypted)"));
  EXPECT_THAT(plots->roc, HasSubstr("Face alone"));
}

TEST(Report, SaysWhyGammaIsWhatItIs) {
  Evaluation e = Example();
  const auto plots = DrawPlots(e);
  ASSERT_TRUE(plots.ok()) << plots.status();
  std::string html = MakeReport(e, *plots, "heft evaluate");
  EXPECT_THAT(html, HasSubstr("chosen by cross-validation on people for training"));
  EXPECT_THAT(html, HasSubstr("+0.0300<small>+0.0200 to +0.0400</small>"));
  EXPECT_THAT(html, HasSubstr("shown to be worse"));
  // An unexpected summary from outside is no reason to fall over.
  for (const char* summary :
       {"", "{}", R"({"gamma_choice":7})", R"({"gamma_choice":{"trials":[]}})",
        R"({"gamma_choice":{"gamma":32,"trials":[{"gamma":-1}]}})",
        // Nor does one dimension need a plot.
        R"({"gamma_choice":{"trials":[{"gamma":32,"fnmr":{"value":0.1,"lo":0,"hi":1},
           "minus_best":{"value":0,"lo":0,"hi":0}}]}})"}) {
    e.model.training_summary = summary;
    const auto without = DrawPlots(e);
    ASSERT_TRUE(without.ok()) << without.status();
    html = MakeReport(e, *without, "heft evaluate");
    EXPECT_THAT(html, HasSubstr("The method or the option --gamma set it")) << summary;
  }
}

TEST(DescribeData, KnowsTheRealSetAndReadsTheFirstLineOfAReadme) {
  EXPECT_THAT(DescribeData("/somewhere/lfw-speech/"), HasSubstr("20-pixel faces"));
  EXPECT_THAT(DescribeData("/somewhere/lfw-speech"), HasSubstr("chimeric pairs"));
  EXPECT_THAT(DescribeData("/data/lfw-speechocean"), HasSubstr("LFW, aligned"));
  EXPECT_THAT(DescribeData("/data/lfw-speechocean-crop"), HasSubstr("not aligned"));
  EXPECT_EQ(DescribeData("/nowhere"), "");
  const heft::testing::TemporaryFolder folder;
  ASSERT_TRUE(
      WriteFileAtomic(folder / "README.md", std::string_view("\n# Synthetic vectors.\n\nMore.\n"))
          .ok());
  EXPECT_EQ(DescribeData(folder.path()), "Synthetic vectors");
}

}  // namespace
}  // namespace heft::experiment
